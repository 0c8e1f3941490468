"""Proven optima and bounds: formulations, and searches over them."""
