"""What a node has now, as NVIDIA's tools say it."""
