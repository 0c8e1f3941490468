"""Figures that are read off a plan: what it uses and wastes, slice by slice, and what its predictions rest on."""
