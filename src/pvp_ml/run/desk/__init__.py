"""What a page can know of runs and do with them. A run's folder is a stranger's until it is checked."""
