"""Other processes of this node: running them, and finding who else changes its GPUs."""
