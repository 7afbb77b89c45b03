"""PvP-ML: train, evaluate and serve agents for player-versus-player games."""

__version__ = "0.1.0"
