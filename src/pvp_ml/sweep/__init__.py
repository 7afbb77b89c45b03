"""Searching for settings: many short runs, the weak ones stopped early, everything on disk."""
