"""From what a planner decides, partitions on GPUs, to a plan's records."""
