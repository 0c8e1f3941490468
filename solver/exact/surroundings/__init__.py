"""GPUs under MPS by the surroundings of their residents: a bound from prices of services, and plans by these prices."""
