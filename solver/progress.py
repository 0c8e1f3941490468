"""What a long search says of itself while it goes on, to whoever listens."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str], object]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def report(text: str) -> None:
    """Says in a few words how far the search is."""
    listener = _listener.get()
    if listener is not None:
        listener(text)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hands what searches report within the block to a listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
