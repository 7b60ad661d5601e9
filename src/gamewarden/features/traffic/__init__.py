"""The online test on packet timing and size (Hilaire et al.)."""
