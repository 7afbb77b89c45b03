"""Fights for people: words, pictures, state."""
