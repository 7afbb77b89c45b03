"""Playing matches until a rollout is full."""
