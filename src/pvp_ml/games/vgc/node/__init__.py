"""Node processes that run the simulator."""
