"""Where shards run: in this process, in processes beside it, on other machines."""
