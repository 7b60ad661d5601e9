"""How alike the minutes of an actor's period are, and what else is counted in it (Lee et al., NDSS 2016)."""
