"""The pieces of the screen on which a problem is stated."""
