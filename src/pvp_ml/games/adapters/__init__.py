"""Games for other people's learners, and other people's environments as games."""
