"""Which covers there are of a workload at given prices, alike workloads once."""
