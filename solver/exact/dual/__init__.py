"""Prices of partition sizes: the Lagrangian dual of the cutting stock, and the bound that it proves."""
