"""Whoever does the same as others: copies of one script."""
