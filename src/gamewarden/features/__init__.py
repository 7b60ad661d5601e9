"""Events to numbers: one family of features a file, named in FEATURES."""
