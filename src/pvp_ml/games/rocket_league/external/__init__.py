"""Somebody else's bot in a seat: a program of its own that is given states and answers with controls."""
