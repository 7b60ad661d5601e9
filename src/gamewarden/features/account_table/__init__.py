"""An operator's own columns, one row per account."""
