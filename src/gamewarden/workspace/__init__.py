"""A place that is set up once and then runs: sources, lake, results at rest and models, in one directory."""
