"""An operator's own table, one row per account: boosted trees beside a logistic regression."""
