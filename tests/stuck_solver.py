"""A solver in C++ that does not look at its time limit, without waiting for the limit."""

import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from sliceplan.solver import api, incumbent, moving
from sliceplan.solver.exact import highs

LATER_S = 1e9


@contextmanager
def stuck(*modules, after=0):
    """
    Makes `run_highs` of some modules never return; whoever waits for it finds every deadline over at once.

    `after`: so many programs are solved before that.
    """
    moment, never = SimpleNamespace(ahead=0.0, calls=0), threading.Event()

    def run_highs(*arguments, **options):
        moment.calls += 1
        if moment.calls <= after:
            return highs.run_highs(*arguments, **options)
        moment.ahead = LATER_S
        never.wait()
        raise RuntimeError("nobody waits for this")

    with pytest.MonkeyPatch.context() as patch:
        clock = SimpleNamespace(monotonic=lambda: time.monotonic() + moment.ahead)
        patch.setattr(incumbent, "time", clock)
        for module in modules:
            patch.setattr(module, "run_highs", run_highs)
        try:
            yield
        finally:
            never.set()


@contextmanager
def no_time():
    """Makes every search be given up before it has done anything, as on a machine that does other work."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (api, moving):
            patch.setattr(module, "best_so_far", lambda _, nothing, **__: nothing("time_limit"))
        yield
