"""How the tests are run: which examples are drawn, and which tests stay together."""

import os

import pytest
from hypothesis import settings

# Continuous integration draws the same examples at every run; elsewhere hypothesis draws new ones.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the marks
def pytest_collection_modifyitems(items):
    """Keeps tests that share a server, a browser or the names of running services in one process (`pytest -n`)."""
    for item in items:
        for folder in ("agent", "browser", "store"):
            if folder in item.path.parts:
                item.add_marker(pytest.mark.xdist_group(folder))
