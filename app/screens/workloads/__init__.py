"""The problem: stated, saved, opened."""
