"""Our fights against recorded ones, roll by roll."""
