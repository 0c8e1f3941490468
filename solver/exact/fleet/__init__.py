"""The search over a whole fleet: decomposed by prices at any scale, with MPS, with partitions kept free."""
