"""What a transition will do, for a person or as a script."""
