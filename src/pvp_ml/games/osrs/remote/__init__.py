"""Fights on somebody else's server."""
