"""What a node has, what a plan wants of it, and the steps between, as plain data."""
