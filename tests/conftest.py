"""Continuous integration draws the same examples at every run; elsewhere hypothesis draws new ones."""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
