"""What all tests share: a file to feed to a command, and which examples hypothesis draws."""

import json
import os

import pytest
from hypothesis import settings

# Continuous integration draws the same examples at every run; elsewhere hypothesis draws new ones.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture
def file(tmp_path):
    """Returns a function that writes data or text to a file."""

    def write(content, name="problem.yaml"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write
