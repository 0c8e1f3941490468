"""An agent on a simulated node, with a clock that only sleeping moves."""

import pytest

from sliceplan.agent.session import Patience, Session
from sliceplan.agent.state_folder import StateFolder


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self):
        self.time = 0.0
        self.wakings = []
        """Called with the time after each sleep."""

    def sleep(self, seconds):
        self.time += seconds
        for waking in self.wakings:
            waking(self.time)

    def now(self):
        return self.time


@pytest.fixture
def folder(tmp_path):
    made = StateFolder(tmp_path / "state")
    made.prepare()
    return made


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def said():
    """What the agent said."""
    return []


@pytest.fixture
def session_of(folder, clock, said):
    """Makes a session for a node."""

    def make(node, patience=None, **options):
        options = {"say": said.append, "sleep": clock.sleep, "clock": clock.now} | options
        return Session(node, folder, patience or Patience(), **options)

    return make
