"""Battles on a real Showdown server."""
