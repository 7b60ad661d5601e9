"""Measuring by many at once: a source is cut into slices, each a task of an engine, and the answers are put together.

What a feature says of itself decides how it may be cut; the numbers are those of one reading.
"""
