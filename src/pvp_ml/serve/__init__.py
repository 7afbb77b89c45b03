"""Answering other programs: a policy behind a socket."""
