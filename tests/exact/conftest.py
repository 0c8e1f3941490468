"""What tests of the exact searches share."""

import time

import pytest


@pytest.fixture
def limits_of_cpu(monkeypatch):
    """
    Counts time limits in CPU seconds of this process, so that other work beside it changes no outcome.

    Not for what waits for others: that takes none.
    """
    monkeypatch.setattr(time, "monotonic", time.process_time)
