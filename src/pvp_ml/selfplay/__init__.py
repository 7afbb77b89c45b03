"""Who plays whom, and what comes of it."""
