"""Plans of whole GPUs from prices, at any number of workloads."""
