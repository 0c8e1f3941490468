"""GPUs, measured models and prices, as data."""
