"""The compiled rules of the fights."""
