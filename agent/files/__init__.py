"""Files that survive a crash, and that nobody else could have changed."""
