"""The learner's compiled loops."""
