"""How the toys are shown to people."""
