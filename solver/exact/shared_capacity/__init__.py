"""The most requests/s that given GPUs under MPS could carry: a plan, and a limit that no plan exceeds."""
