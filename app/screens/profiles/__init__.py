"""What is known of a model on a GPU type."""
