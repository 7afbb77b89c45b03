"""`pvp-ml model`: the files that people share."""
