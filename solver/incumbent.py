"""
The best answer so far of a search that goes on, for whoever interrupts it.

A search that has an answer offers how to build it. Solvers written in C++ cannot be stopped midway, so an interruptible
search runs in a thread of its own that is left behind, and the last offer is the answer.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

Answer = TypeVar("Answer")

_stop: ContextVar[threading.Event | None] = ContextVar("stop", default=None)
_offers: ContextVar[list[Callable[[], Any]] | None] = ContextVar("offers", default=None)
_left_behind: list[threading.Thread] = []

POLL_S = 0.05


@contextmanager
def interruptible_by(stop: threading.Event) -> Iterator[None]:
    """Makes every search within the block end with its best answer so far when the event is set."""
    token = _stop.set(stop)
    try:
        yield
    finally:
        _stop.reset(token)


def interruption() -> threading.Event | None:
    """Returns the event that ends the searches here; None: nothing does."""
    return _stop.get()


def offer(build: Callable[[], Any]) -> None:
    """Names the best answer so far, of the type that the search returns; nobody may be interested."""
    offers = _offers.get()
    if offers is not None:
        offers.append(build)
        del offers[:-1]  # in this order, so that there is one at any moment


def best_so_far(search: Callable[[], Answer], nothing: Callable[[], Answer]) -> Answer:
    """Returns what a search finds; if it is interrupted before, its last offer; `nothing` builds the one before all."""
    stop = _stop.get()
    if stop is None:
        return search()
    offers: list[Callable[[], Answer]] = [nothing]
    found: list[Answer] = []
    failed: list[BaseException] = []

    def work() -> None:
        _offers.set(offers)
        _stop.set(None)  # the whole search is given up, not one that it consists of
        try:
            found.append(search())
        except BaseException as error:  # raised again below, in the caller's thread
            failed.append(error)

    thread = threading.Thread(target=copy_context().run, args=(work,), daemon=True)
    if not stop.is_set():
        thread.start()
    while thread.is_alive() and not stop.is_set():
        thread.join(POLL_S)
    if failed:
        raise failed[0]
    if found:
        return found[0]
    _left_behind.append(thread)
    return offers[-1]()


def runs_on() -> bool:
    """Tells whether an interrupted search still runs, so that the interpreter cannot end in good order."""
    return any(thread.is_alive() for thread in _left_behind)
