"""
The best answer so far of a search that goes on, for whoever interrupts it, and for its time limit.

A search that has an answer offers how to build it. Solvers written in C++ cannot be stopped midway, and some look at
their own time limit only now and then. So a search runs in a thread of its own. When it is interrupted, or goes on
after its deadline, it is given up: the thread is left behind, and the last offer is the answer.

A thread that is left behind ends at its next line of Python. So it takes no time from what follows, but for a solver
that is still running: that one has the rest of its own limit, and a core of its own where there are two. Where that
line is of a destructor or of a callback of the garbage collector, Python lets nothing pass; so it is told again. Where
it imports, it ends after that (`importing.py`).

Who watches a search is shown what it offers. The answer is built beside the search, in a thread that is given up with
it, and not so often that it takes much from it. Where nobody watches, an offer costs what naming it costs.
"""

import atexit
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from math import inf
from typing import Any, Generic, Literal, TypeVar

from ..model.stop_reason import StopReason
from .deadline import until
from .frame_room import with_frame_room
from .importing import raise_unless_importing

Answer = TypeVar("Answer")

Stopped = Literal[StopReason.INTERRUPTED, StopReason.TIME_LIMIT]
"""Why a search was given up."""

Offer = Callable[[Stopped], Answer]
"""Builds an answer, which says why nothing better came."""

_stop: ContextVar[threading.Event | None] = ContextVar("stop", default=None)
_offers: ContextVar[list[Offer[Any]] | None] = ContextVar("offers", default=None)
_left_behind: list[threading.Thread] = []

POLL_S = 0.05

GRACE_S = 0.2
"""
How long after its deadline a search may go on before it is given up.

Whoever keeps the deadline comes within it, with an answer that is never worse than the last offer.
"""

TOLD_AGAIN_S = 1.0
"""How long after a thread was told to end it is told again: what unwinds a search takes less."""

AT_EXIT_S = 1.0
"""
How long the interpreter waits at its end for threads that were left behind. A solver that comes back to Python while
that ends would take the whole process with it ("terminate called without an active exception").
"""

WATCHED_FROM_S = 0.3
"""How long a search goes on before an offer is built to be shown: what ends sooner is not slowed by it."""

REST = 4
"""How often as long as it took to build one, until the next offer is built."""


@dataclass(frozen=True)
class Watch(Generic[Answer]):
    """Someone who looks on while a search goes on."""

    make: Callable[[Answer], Any]
    """Makes of an answer what is shown, None: nothing; called beside the search, and given up where that ends."""
    show: Callable[[Any], object]
    """Is called with that, in the thread that waits for the search."""
    fail: Callable[[BaseException], object]
    """Is called there with what `make` raised; the search goes on."""


class GivenUpError(BaseException):
    """Ends a search that nobody waits for any more; no `except Exception` is to keep it from that."""


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


@contextmanager
def unheard() -> Iterator[None]:
    """Lets a search within another one name answers so far that nobody takes for those of the other."""
    token = _offers.set(None)
    try:
        yield
    finally:
        _offers.reset(token)


@contextmanager
def heard_as(change: Callable[[Any], Any]) -> Iterator[None]:
    """Hands on the answers that a search within another one names as answers of the other, changed into these."""
    outer = _offers.get()
    token = _offers.set(None if outer is None else _Changed(outer, change))
    try:
        yield
    finally:
        _offers.reset(token)


class _Changed(list[Offer[Any]]):
    """Offers of a search within another one; holds none itself."""

    def __init__(self, outer: list[Offer[Any]], change: Callable[[Any], Any]) -> None:
        super().__init__()
        self._outer, self._change = outer, change

    def append(self, build: Offer[Any]) -> None:
        """Offers it to the outer search."""
        self._outer.append(lambda stopped: self._change(build(stopped)))
        del self._outer[:-1]


def offer(build: Offer[Any]) -> None:
    """Names the best answer so far, of the type that the search returns; nobody may be interested."""
    offers = _offers.get()
    if offers is not None:
        offers.append(build)
        del offers[:-1]  # in this order, so that there is one at any moment


def best_so_far(
    search: Callable[[], Answer],
    nothing: Offer[Answer],
    *,
    deadline: float = inf,
    watch: Watch[Answer] | None = None,
) -> Answer:
    """
    Returns what a search finds; if it is given up before, its last offer; `nothing` builds the one before all.

    Parameters
    ----------
    deadline
        As time.monotonic() has it; solvers within the search have no time limit beyond it. A search that is over time
        already begins all the same, and has GRACE_S.
    watch
        Who is shown the offers while the search goes on, the latest first and no earlier one after it; None: nobody.
    """
    stop = _stop.get()
    if stop is None and deadline == inf and watch is None:
        return search()
    running = _Running(search, nothing, deadline)
    watched = None if watch is None else _Watched(watch, running.offers)
    given_up_at = max(deadline, time.monotonic()) + GRACE_S
    try:
        if stop is None or not stop.is_set():
            running.thread.start()
        while running.goes_on and not (stop is not None and stop.is_set()) and time.monotonic() < given_up_at:
            running.thread.join(min(POLL_S, max(given_up_at - time.monotonic(), 0.0)))
            if watched is not None and running.goes_on:
                watched.look()
    except BaseException:  # Ctrl-C, mostly
        running.give_up()
        raise
    finally:
        if watched is not None:
            watched.end()
    if running.failed:
        raise running.failed[0]
    if running.found:
        return running.found[0]
    running.give_up()
    return running.offers[-1](StopReason.INTERRUPTED if stop is not None and stop.is_set() else StopReason.TIME_LIMIT)


def runs_on() -> bool:
    """Tells whether a search that was given up still runs, so that the interpreter cannot end in good order."""
    _left_behind[:] = [thread for thread in _left_behind if thread.is_alive()]
    return bool(_left_behind)


@atexit.register
def _await_left_behind() -> None:
    """Gives what runs on a moment to end."""
    end = time.monotonic() + AT_EXIT_S
    for thread in _left_behind:
        thread.join(max(end - time.monotonic(), 0.0))


class _Running(Generic[Answer]):
    """A search in its thread."""

    def __init__(self, search: Callable[[], Answer], nothing: Offer[Answer], deadline: float) -> None:
        self.offers: list[Offer[Answer]] = [nothing]
        self.found: list[Answer] = []
        self.failed: list[BaseException] = []
        self._search, self._deadline = search, deadline
        self._has_ended = False
        self._ending = threading.Lock()
        self.thread = threading.Thread(target=copy_context().run, args=(self._run,), daemon=True)

    @property
    def goes_on(self) -> bool:
        return self.thread.is_alive()

    def give_up(self) -> None:
        """Leaves the thread behind, and has it end at its next line of Python."""
        if self.goes_on:
            _left_behind.append(self.thread)
            threading.Thread(target=self._insist, daemon=True).start()

    def _insist(self) -> None:
        """Tells it until it ends."""
        while self._can_be_told():
            self.thread.join(TOLD_AGAIN_S if self._tell() else POLL_S)

    def _can_be_told(self) -> bool:
        return self.goes_on and not self._has_ended

    def _tell(self) -> bool:
        """Raises GivenUpError in the thread, unless it has ended or imports; returns whether it was told."""
        with self._ending:
            return self._can_be_told() and raise_unless_importing(self.thread.ident or 0, GivenUpError)

    def _run(self) -> None:
        with suppress(GivenUpError):  # at whatever line it comes
            with_frame_room(self._work)

    def _work(self) -> None:
        _offers.set(self.offers)
        _stop.set(None)  # the whole search is given up, not one that it consists of
        try:
            with until(self._deadline):
                self.found.append(self._search())
        except GivenUpError:
            raise
        except BaseException as error:  # raised again in the caller's thread
            self.failed.append(error)
        finally:
            with self._ending:
                self._has_ended = True


class _Watched(Generic[Answer]):
    """The offers of a search, as they are shown to who watches it; its methods return at once."""

    def __init__(self, watch: Watch[Answer], offers: list[Offer[Answer]]) -> None:
        self._watch, self._offers = watch, offers
        self._seen = offers[-1]
        self._making: _Running[Any] | None = None
        self._began = 0.0
        self._next = time.monotonic() + WATCHED_FROM_S

    def look(self) -> None:
        """Shows what was made of an offer, and begins to make something of a new one, if it is time."""
        if self._making is not None and not self._making.goes_on:
            made, self._making = self._making, None
            self._next = time.monotonic() + REST * (time.monotonic() - self._began)
            if made.failed:
                self._watch.fail(made.failed[0])
            elif made.found and made.found[0] is not None:
                self._watch.show(made.found[0])
        latest = self._offers[-1]
        if self._making is None and latest is not self._seen and time.monotonic() >= self._next:
            self._seen, self._began = latest, time.monotonic()
            self._making = _Running(lambda: self._watch.make(latest(StopReason.INTERRUPTED)), lambda _: None, inf)
            self._making.thread.start()

    def end(self) -> None:
        """Gives up what is being made."""
        if self._making is not None:
            self._making.give_up()
            self._making.thread.join(POLL_S)
