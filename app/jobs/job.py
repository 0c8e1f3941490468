"""One job: what was asked for, how far it is, and what came of it."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sliceplan.solver.model.judged import Judged
from sliceplan.solver.runtime.progress import Report

from .row_so_far import RowSoFar
from .so_far import SoFar


class State(StrEnum):
    """Where a job stands."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    """Ended by its user; the result is the best so far, or None where there is none."""
    FAILED = "failed"
    """`error` says why, in words for the user."""


ENDED = (State.DONE, State.CANCELLED, State.FAILED)


@dataclass(frozen=True)
class JobStatus:
    """What a page shows of a job; a copy that does not change."""

    id: str
    user: str
    kind: str
    """solve, sweep, or another name that was given."""
    title: str
    state: State
    progress: Report | None
    """What the search said last; None: nothing yet."""
    done: int
    of: int
    """Parts of it that are done, and all: the points of a sweep; a solve is one part."""
    seconds: float
    """Since it was submitted, until it ended."""
    error: str | None
    so_far: SoFar | None = None
    """The best verified plan of a solve that has not ended; None: there is none yet."""
    rows: tuple[RowSoFar, ...] = ()
    """The planners of a comparison that has not ended which are done."""
    improved: tuple[tuple[float, Judged], ...] = ()
    """Seconds of a solve, and how good its best plan was then, for each that it found on its way."""

    @property
    def has_ended(self) -> bool:
        """Whether nothing changes any more."""
        return self.state in ENDED


@dataclass(eq=False)
class Job:
    """The state behind a JobStatus; its fields are read and changed under `changing`."""

    id: str
    user: str
    kind: str
    title: str
    of: int = 1
    state: State = State.WAITING
    progress: Report | None = None
    done: int = 0
    error: str | None = None
    so_far: SoFar | None = None
    rows: tuple[RowSoFar, ...] = ()
    improved: tuple[tuple[float, Judged], ...] = ()
    result: Any = None
    size_bytes: int = 0
    is_cancelled: bool = False
    cancel: Callable[[], object] = lambda: None
    submitted_s: float = field(default_factory=time.monotonic)
    ended_s: float | None = None
    has_points: threading.Event = field(default_factory=threading.Event)
    """That a sweep has its first point, or has ended."""
    ended: threading.Event = field(default_factory=threading.Event)
    changing: threading.RLock = field(default_factory=threading.RLock)

    def status(self) -> JobStatus:
        """Returns what is known of it now."""
        with self.changing:
            until = time.monotonic() if self.ended_s is None else self.ended_s
            return JobStatus(
                self.id,
                self.user,
                self.kind,
                self.title,
                self.state,
                self.progress,
                self.done,
                self.of,
                until - self.submitted_s,
                self.error,
                self.so_far,
                self.rows,
                self.improved,
            )

    def says(self, report: Report) -> None:
        """Notes what its search reports, which also shows that it runs."""
        with self.changing:
            self.progress = report
            self.runs()

    def finds(self, found: SoFar | RowSoFar) -> None:
        """Notes the best plan so far, or one more planner that is done."""
        with self.changing:
            if isinstance(found, RowSoFar):
                self.rows = (*self.rows, found)
                self.done, self.of = found.done, found.of
            else:
                self.so_far = found
                self.improved = (*self.improved, (found.seconds, found.judged))
            self.runs()

    def runs(self) -> None:
        """Notes that it has begun."""
        with self.changing:
            if self.state is State.WAITING:
                self.state = State.RUNNING

    def ends(self, state: State, *, result: Any = None, error: str | None = None, size_bytes: int = 0) -> None:
        """Notes what came of it."""
        with self.changing:
            self.state, self.result, self.error, self.size_bytes = state, result, error, size_bytes
            self.ended_s = time.monotonic()
            self.so_far, self.rows = None, ()
            self.cancel = lambda: None
        self.has_points.set()
        self.ended.set()
