"""Warm worker processes that several users share, as an executor of concurrent.futures."""

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..runtime.progress import Listener, Watcher
from .turns import Turns
from .worker import Worker

SOLVER = ("sliceplan.solver.api.planners:planner_names", "sliceplan.solver.model.catalogue:load_catalogue")
"""What a worker imports and calls before its first call."""

KILL_S = 1.0
"""How long a killed process is waited for; it ends in any case."""


class Call(Future[Any]):
    """A call that waits, runs or has ended."""

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        super().__init__()
        self.function, self.arguments, self.options = function, arguments, options
        self.stop = threading.Event()

    def cancel(self) -> bool:
        """As of any future; a call that runs already is not cancelled but ends with its best answer so far."""
        self.stop.set()
        return super().cancel()


class WorkerPool(Executor):
    """
    Processes that serve the calls of all users in turn (turns.py); they start at once, and lost ones are replaced.

    A call whose process is lost fails with LostWorkerError; the others go on.

    Parameters
    ----------
    number
        Processes, and so calls that run at once.
    kept_free
        How many of them wait for users of whom nothing runs.
    preload
        What each process imports and calls before its first call, as `module:function`.
    at_once
        How many start now; the others with `start_all`, or as soon as more calls wait than these can serve. None: all.
    """

    def __init__(
        self, number: int, *, kept_free: int = 0, preload: Sequence[str] = SOLVER, at_once: int | None = None
    ) -> None:
        self.number = number
        self._at_once = number if at_once is None else min(at_once, number)
        self._all_may_start = threading.Event()
        self._preload = preload
        self._turns: Turns[tuple[Call, Lane]] = Turns(number, kept_free)
        self._calls: weakref.WeakSet[Call] = weakref.WeakSet()
        self._workers: list[Worker | None] = [Worker(preload) for _ in range(self._at_once)]
        self._workers += [None] * (number - self._at_once)
        self._is_shut = self._is_killed = False
        self._threads = [
            threading.Thread(target=self._serve, args=(i,), name=f"worker-{i}", daemon=True) for i in range(number)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Call:
        """Queues a call of nobody in particular."""
        return self.lane("").submit(function, *arguments, **options)

    def lane(self, user: str, on_report: Listener = lambda _: None, on_so_far: Watcher = lambda _: None) -> "Lane":
        """Returns an executor for the calls of one user, with who hears what they report and hand on (progress.py)."""
        return Lane(self, user, on_report, on_so_far)

    def add(self, lane: "Lane", call: Call) -> None:
        """Queues a call of a user; RuntimeError if the pool is shut down."""
        self._calls.add(call)
        if self._turns.add(lane.user, (call, lane)) > self._at_once:
            self.start_all()

    def start_all(self) -> None:
        """Starts the processes that have not been started yet, without waiting for them."""
        self._all_may_start.set()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the processes after their calls; `cancel_futures` cancels those that wait and stops those that run."""
        self._is_shut = True
        self._turns.close()
        self.start_all()  # which ends the threads that wait for it
        if cancel_futures:
            for call in list(self._calls):
                call.cancel()
        if wait:
            for thread in self._threads:
                thread.join()

    def kill(self) -> None:
        """Ends the processes at once; what runs fails, and what waits is cancelled."""
        self._is_shut = self._is_killed = True
        self._turns.close()
        self.start_all()
        for call in list(self._calls):
            call.cancel()
        for worker in self._workers:
            if worker is not None:
                worker.kill()
        for thread in self._threads:
            thread.join(KILL_S)

    def _serve(self, place: int) -> None:
        if place >= self._at_once:
            self._all_may_start.wait()
        worker = self._workers[place]
        if worker is None:
            if self._is_shut:
                return
            worker = self._workers[place] = Worker(self._preload)
        while (turn := self._turns.take()) is not None:
            user, (call, lane) = turn
            worker = self._renewed(place, worker)
            if call.set_running_or_notify_cancel():
                _run(worker, call, lane)
            self._turns.done(user)
            del call, lane, turn
            worker = self._renewed(place, worker)  # now, so that it is warm when the next call comes
        worker.close()

    def _renewed(self, place: int, worker: Worker) -> Worker:
        """Returns the worker, or another in the place of one that serves no further call."""
        if not worker.is_usable:
            worker.close()
            if not self._is_killed:
                worker = self._workers[place] = Worker(self._preload)
        return worker


def _run(worker: Worker, call: Call, lane: "Lane") -> None:
    try:
        answer = worker.call(
            call.function,
            call.arguments,
            call.options,
            stop=call.stop,
            on_report=lane.on_report,
            on_so_far=lane.on_so_far,
        )
    except BaseException as error:  # raised in whoever asks for the answer
        call.set_exception(error)
    else:
        call.set_result(answer)


@dataclass(frozen=True)
class Lane(Executor):
    """The calls of one user on a pool that others use too."""

    pool: WorkerPool
    user: str
    on_report: Listener
    on_so_far: Watcher

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Call:
        """Queues a call."""
        call = Call(function, arguments, options)
        self.pool.add(self, call)
        return call


def cores() -> int:
    """Returns how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_making = threading.Lock()


def shared_pool() -> WorkerPool:
    """Returns the pool of this process, one worker a core; it is made when first asked for, and stays warm."""
    with _making:
        return _shared_pool()


@cache
def _shared_pool() -> WorkerPool:
    pool = WorkerPool(cores())
    atexit.register(pool.kill)
    return pool
