"""How long an act of the desk lasts in tests."""

from datetime import timedelta

WEEK = timedelta(days=7)
