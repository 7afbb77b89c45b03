"""Numbers that change during a run, and the arithmetic a preset may contain."""
