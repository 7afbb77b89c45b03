"""Scripted NH fighters of rising skill, each with a style of its own: opponents to measure and to practise against."""
