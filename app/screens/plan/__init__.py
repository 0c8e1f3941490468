"""The plan, and taking it away."""
