"""Example problems with their plans."""
