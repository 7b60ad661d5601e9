"""gamewarden inside a Spark job of one's own: DataFrames in, DataFrames out, the same numbers to the last bit."""
