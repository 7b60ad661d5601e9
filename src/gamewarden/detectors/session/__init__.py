"""Sessions of Ragnarok Online by what their messages say (Cornelissen 2008)."""
