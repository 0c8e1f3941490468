"""
The best plan so far of a search that goes on, for whoever interrupts it.

A search that has a plan offers how to build it. Solvers written in C++ cannot be stopped midway, so an interrupted
search runs in a thread of its own that is left behind, and the last offer is the answer.
"""

import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context

from .model.plan import Plan

_offers: ContextVar[list[Callable[[], Plan]] | None] = ContextVar("offers", default=None)

POLL_S = 0.05


def offer(build: Callable[[], Plan]) -> None:
    """Names the best plan so far of the search that calls; nobody may be interested."""
    offers = _offers.get()
    if offers is not None:
        offers.append(build)


def run_until(stop: threading.Event, search: Callable[[], Plan]) -> Plan | None:
    """Returns what a search finds; if `stop` is set before, its last offer, or None if it made none."""
    offers: list[Callable[[], Plan]] = []
    found: list[Plan] = []
    failed: list[BaseException] = []

    def work() -> None:
        _offers.set(offers)
        try:
            found.append(search())
        except BaseException as error:  # raised again below, in the caller's thread
            failed.append(error)

    thread = threading.Thread(target=copy_context().run, args=(work,), daemon=True)
    thread.start()
    while thread.is_alive() and not stop.is_set():
        thread.join(POLL_S)
    if failed:
        raise failed[0]
    if found:
        return found[0]
    return offers[-1]() if offers else None
