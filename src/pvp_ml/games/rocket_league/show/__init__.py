"""Matches for people."""
