"""`pvp-ml play`: a person against an agent."""
