"""`pvp-ml bench`: how fast things are."""
