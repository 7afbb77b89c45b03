"""Small games with known answers: they prove the learning loop and show how a game is written."""
