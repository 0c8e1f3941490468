"""Algorithms that turn a problem into a plan; one file a published system."""
