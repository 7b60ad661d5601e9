"""How good is it: splits by actor, metrics, reports."""
