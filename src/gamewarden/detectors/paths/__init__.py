"""Whoever walks the same way again and again (Mitterhofer et al. 2009)."""
