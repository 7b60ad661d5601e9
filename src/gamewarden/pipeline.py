"""The batch run: the one file that knows the order of the rooms."""
