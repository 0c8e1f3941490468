"""Sliders, sweeps, the cheapest mix of GPUs, sensitivities."""
