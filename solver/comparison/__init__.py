"""Planners' answers side by side, and where they contradict each other."""
