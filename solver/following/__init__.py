"""Rates that change, and plans that follow them: what following costs, and what it misses."""
