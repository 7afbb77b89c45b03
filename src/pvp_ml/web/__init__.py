"""The arena: a page on which people fight agents, watch them and look into their heads."""
