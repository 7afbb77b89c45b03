"""Compiled functions and where they are kept."""
