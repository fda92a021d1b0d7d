"""Servers under load and under attack."""
