"""The rules of each game. Nothing here imports torch."""
