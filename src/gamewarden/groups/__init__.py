"""Accounts that belong together: who gives to whom without getting anything back, and what such a group looks like.

Pure functions over tables: EDGES -> flows -> communities -> measures -> types and roles, with sentences.
"""
