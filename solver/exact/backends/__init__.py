"""Solvers behind OR-Tools, and programs handed over as arrays."""
