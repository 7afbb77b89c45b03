"""Battles for people."""
