"""Whoever lets a program play for some hours: how clockwork-like the best hours of a day are."""
