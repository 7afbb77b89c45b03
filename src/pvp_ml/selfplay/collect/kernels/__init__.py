"""Compiled loops over rows of matches."""
