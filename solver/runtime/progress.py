"""What a long search says of itself while it goes on, and its best answer so far, to whoever listens."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Report:
    """How far a search is."""

    text: str
    """In a few words."""
    done: int = 0
    of: int = 0
    """Equal parts of it that are done, and all; 0: it has no parts that are known beforehand."""


Listener = Callable[[Report], object]

Watcher = Callable[[Any], object]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def report(text: str, done: int = 0, of: int = 0) -> None:
    """Says how far the search is, with the fields of a Report."""
    listener = _listener.get()
    if listener is not None:
        listener(Report(text, done, of))


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hands what searches report within the block to a listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def watcher() -> Watcher | None:
    """Returns who is to be handed the best answer so far, of whatever type was agreed upon; None: nobody."""
    return _watcher.get()


@contextmanager
def watching(one: Watcher) -> Iterator[None]:
    """Makes someone the watcher of what is called within the block."""
    token = _watcher.set(one)
    try:
        yield
    finally:
        _watcher.reset(token)
