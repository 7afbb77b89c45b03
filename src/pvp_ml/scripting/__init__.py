"""What scripts and notebooks call: train, evaluate, load, make. `import pvp_ml` gives all of it on first use."""
