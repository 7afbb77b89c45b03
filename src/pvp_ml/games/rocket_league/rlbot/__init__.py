"""A policy as an RLBot bot."""
