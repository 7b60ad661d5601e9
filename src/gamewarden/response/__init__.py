"""Beliefs to actions: a ladder that is data, challenges, appeals, and one module that has effects."""
