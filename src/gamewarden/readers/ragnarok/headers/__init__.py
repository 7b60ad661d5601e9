"""Message tables in the C headers of today's servers, read without a compiler: conditions, declarations, table."""
