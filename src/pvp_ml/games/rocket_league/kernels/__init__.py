"""Compiled loops over cars and pads."""
