"""A solver in C++ that does not look at its time limit, without waiting for the limit."""

import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from sliceplan.solver.api import at_hand, counted_fleets, moving, pricing, running
from sliceplan.solver.runtime import interruption

LATER_S = 1e9

FOR_EVER_S = 60.0
"""Whoever waits so long has no deadline."""


@contextmanager
def stuck(*modules, after=0, name="run_highs"):
    """
    Makes `run_highs` of some modules, or another function, never return; who waits finds every deadline over at once.

    `after`: so many calls are answered before that.
    """
    moment, never = SimpleNamespace(ahead=0.0, calls=0), threading.Event()

    def stuck_in(module):
        real = getattr(module, name)

        def call(*arguments, **options):
            moment.calls += 1
            if moment.calls <= after:
                return real(*arguments, **options)
            moment.ahead = LATER_S
            never.wait(FOR_EVER_S)
            raise RuntimeError("nobody was to wait for this: a deadline was not passed on")

        return call

    with pytest.MonkeyPatch.context() as patch:
        clock = SimpleNamespace(monotonic=lambda: time.monotonic() + moment.ahead)
        patch.setattr(interruption, "time", clock)
        for module in modules:
            patch.setattr(module, name, stuck_in(module))
        try:
            yield
        finally:
            never.set()


@contextmanager
def no_time():
    """Makes every search be given up before it has done anything, as on a machine that does other work."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (at_hand, counted_fleets, moving, pricing, running):
            patch.setattr(module, "best_so_far", lambda _, nothing, **__: nothing("time_limit"))
        yield
