"""Measured comparisons: see README.md."""
