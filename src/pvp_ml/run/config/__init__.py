"""What a run is told: presets, flags and the typed configuration they become."""
