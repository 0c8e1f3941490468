"""A pause of Python's cyclic garbage collector while many objects are made that are kept."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pauses the collector: a problem or a plan is up to millions of objects without a cycle, all of them kept."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            # All objects become old ones, which are looked at seldom; else they would be looked at right now.
            gc.freeze()
            gc.unfreeze()
            gc.enable()
