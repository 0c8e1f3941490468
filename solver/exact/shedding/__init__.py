"""Where the GPUs are too few: what to serve, a bound on its value, and how many GPUs are missing."""
