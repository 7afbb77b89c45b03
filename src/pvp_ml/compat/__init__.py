"""Reads what other programs wrote: old models, options and presets. Only `cli` and config loading import it."""
