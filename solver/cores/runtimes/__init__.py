"""Queries on a CPU's cores, event by event: on fixed parts, in blocks of layers, or with changes between layers."""
