"""Numbers to scores: one published method a file, named in DETECTORS."""
