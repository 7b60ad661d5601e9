"""How methods learn: labels, folds, out-of-fold decisions, reference humans, calibration, and models as JSON."""
