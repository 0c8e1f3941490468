"""The most requests/s that given GPUs could carry: a plan, and a limit that no plan exceeds."""
