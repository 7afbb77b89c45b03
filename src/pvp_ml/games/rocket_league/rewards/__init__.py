"""Named reward terms."""
