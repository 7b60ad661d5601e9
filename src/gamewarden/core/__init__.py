"""What everything above stands on: time, files, text, small statistics, compiled code."""
