"""Logs that are tables: CSV, JSON Lines and Parquet, as streams of EVENTS."""
