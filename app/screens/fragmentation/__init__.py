"""What is left of each GPU, and what moving services would win."""
