"""Logistic regression: of an account's day (Lee et al., NDSS 2016), or of the columns of any feature."""
