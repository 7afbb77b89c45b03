"""Text that somebody else wrote, read within limits: YAML and JSON."""
