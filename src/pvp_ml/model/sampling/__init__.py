"""From logits, masks and rules to choices."""
