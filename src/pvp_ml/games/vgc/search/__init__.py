"""A player that looks a turn ahead: guesses what it cannot see, simulates, and solves the turn as a matrix game."""
