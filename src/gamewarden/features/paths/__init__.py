"""How much of its way an actor walks again and again (Mitterhofer et al. 2009)."""
