"""The integer program of GPUs that are cut: cutting stock, partitions kept free, and its numbers as GPUs."""
