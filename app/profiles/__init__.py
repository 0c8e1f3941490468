"""Profiles that the page knows, and those of one's own."""
