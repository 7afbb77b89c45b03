"""Checks that a game keeps the promises of the contract."""
