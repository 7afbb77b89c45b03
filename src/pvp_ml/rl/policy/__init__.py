"""A policy as a differentiable function."""
