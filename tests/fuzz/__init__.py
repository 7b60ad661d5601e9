"""Hostile inputs of every format, made by rule from a number, run against the command line and judged."""
