"""The simulation protocol: our fights for other trainers."""
