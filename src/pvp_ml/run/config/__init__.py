"""What a run is asked to do: presets, flags and the typed configuration they become."""
