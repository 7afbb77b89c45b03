"""A run on disk: checkpoints, milestones, exports and the lock."""
