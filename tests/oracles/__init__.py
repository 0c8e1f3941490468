"""Answers by other means than the code's: slow, simple, one number at a time."""
