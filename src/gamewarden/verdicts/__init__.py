"""Scores to beliefs: whom to look at first, and why."""
