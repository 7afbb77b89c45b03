"""Commands about runs that exist: following, comparing, their leagues, their curves."""
