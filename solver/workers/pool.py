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
    """

    def __init__(self, number: int, *, kept_free: int = 0, preload: Sequence[str] = SOLVER) -> None:
        self.number = number
        self._preload = preload
        self._turns: Turns[tuple[Call, Lane]] = Turns(number, kept_free)
        self._calls: weakref.WeakSet[Call] = weakref.WeakSet()
        self._workers = [Worker(preload) for _ in range(number)]
        self._is_killed = False
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
        self._turns.add(lane.user, (call, lane))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the processes after their calls; `cancel_futures` cancels those that wait and stops those that run."""
        self._turns.close()
        if cancel_futures:
            for call in list(self._calls):
                call.cancel()
        if wait:
            for thread in self._threads:
                thread.join()

    def kill(self) -> None:
        """Ends the processes at once; what runs fails, and what waits is cancelled."""
        self._is_killed = True
        self._turns.close()
        for call in list(self._calls):
            call.cancel()
        for worker in self._workers:
            worker.kill()
        for thread in self._threads:
            thread.join(KILL_S)

    def _serve(self, place: int) -> None:
        while (turn := self._turns.take()) is not None:
            user, (call, lane) = turn
            self._renew(place)
            if call.set_running_or_notify_cancel():
                _run(self._workers[place], call, lane)
            self._turns.done(user)
            del call, lane, turn
            self._renew(place)  # now, so that it is warm when the next call comes
        self._workers[place].close()

    def _renew(self, place: int) -> None:
        """Replaces a worker that serves no further call."""
        if not self._workers[place].is_usable:
            self._workers[place].close()
            if not self._is_killed:
                self._workers[place] = Worker(self._preload)


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
