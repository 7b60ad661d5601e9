"""Accounts that do the same as others, beyond what people of the same level and zone have in common."""
