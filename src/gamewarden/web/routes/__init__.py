"""The routes: one file a page."""
