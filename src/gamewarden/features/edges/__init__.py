"""EDGES: what accounts had to do with each other, day by day, counted in one reading of the events."""
