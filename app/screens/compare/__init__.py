"""The planners side by side."""
