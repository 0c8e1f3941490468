"""The learned scheduler: its environment, its networks, how it is trained, and the files that keep it."""
