"""At rest: the event lake (Parquet) and the models (JSON)."""
