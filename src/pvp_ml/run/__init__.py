"""A run: its configuration, its time and its place on disk."""
