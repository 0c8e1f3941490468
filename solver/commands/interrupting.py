"""What Ctrl-C means to a search."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .output import say


@contextmanager
def stopped_by_interrupt() -> Iterator[threading.Event]:
    """Yields an event that the first Ctrl-C sets; the second interrupts as usual."""
    stop = threading.Event()

    def on_interrupt(*_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        say("interrupted: ending with the best plan so far; once more to give it up")

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
