"""Is it still true: the EWMA watch over a model's own scores, why they moved, and whether a new model may take over."""
