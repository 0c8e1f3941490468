"""Published ways to let services take turns on shares of a GPU, and what their planners have in common."""
