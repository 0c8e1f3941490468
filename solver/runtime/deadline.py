"""
Until when a search has time: one moment, held in the context, for all that it consists of.

The parts of a search are given their parts of its time as arguments. That none of them passes the end of the whole is
settled where it matters: where solvers in C++ are started, which cannot be stopped later.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf

_end: ContextVar[float] = ContextVar("end", default=inf)


@contextmanager
def until(moment: float) -> Iterator[None]:
    """Gives the block time until a moment, as time.monotonic() has it, or until that of a block around it."""
    token = _end.set(min(moment, _end.get()))
    try:
        yield
    finally:
        _end.reset(token)


def seconds_left() -> float:
    """Returns how much time is left here, below 0 if it is over; inf: there is no end."""
    return _end.get() - time.monotonic()


def at_most_left(seconds: float) -> float:
    """Returns a time limit for a part of the search, in seconds: not more than is left, and above 0."""
    return max(min(seconds, seconds_left()), LEAST_S)


LEAST_S = 0.01
"""A time limit that solvers take for one, and not for none."""
