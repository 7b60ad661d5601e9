"""Whose place among those who give and take is that of a farm's account: its hub, a leaf, a link."""
