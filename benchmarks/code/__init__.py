"""Counts of source code."""
