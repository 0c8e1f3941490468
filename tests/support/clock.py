"""A clock that stands still until it was read so often, and then says that all time is over."""

import sys
import time
from contextlib import contextmanager
from unittest import mock


class Clock:
    """In the place of `time.monotonic`."""

    def __init__(self, readings):
        self.left = readings
        self.late = 0
        """How often it was read when all time was over."""

    def __call__(self):
        if self.left > 0:
            self.left -= 1
            return 1000.0
        self.late += 1
        return 1e9


@contextmanager
def time_for(readings):
    """Has all of sliceplan read such a clock for a while, and yields it."""
    clock, real = Clock(readings), time.monotonic
    with mock.patch.object(time, "monotonic", clock):
        _exchange(real, clock)
        try:
            yield clock
        finally:
            # Also in modules that were first loaded meanwhile.
            _exchange(clock, real)


def _exchange(clock, other):
    """Has the modules that took one clock by its name read another."""
    # A copy, since searches that were given up may still be loading some.
    for name, module in sys.modules.copy().items():
        if name.startswith("sliceplan.") and getattr(module, "monotonic", None) is clock:
            module.monotonic = other
