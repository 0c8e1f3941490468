"""Many calls on an executor: a few ahead at a time, answers as they come, lost workers made good."""

import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, TypeVar

from .executors import Workers

Submission = tuple[Any, ...]
"""A function and its arguments."""

Key = TypeVar("Key", bound=Hashable)

RETRIES = 2
"""How often a call begins anew after its worker was lost."""

AHEAD = 2
"""Calls on their way for each that can run, so that no worker waits for its next one."""

POLL_S = 0.05
"""How often the end is looked for."""


class LostTooOften(Exception):  # noqa: N818 - an outcome that is handed on, not raised
    """The outcome of a call whose worker was lost at every attempt."""


def gathered(
    keys: Iterable[Key],
    call: Callable[[Key], Submission],
    workers: Workers,
    *,
    stop: threading.Event | None = None,
) -> Iterator[tuple[Key, Any, int]]:
    """
    Yields each key with what its call returned and how often it began anew, as the answers come.

    A call that raises has the exception as its answer. When `stop` is set, or the iterator is closed, nothing more is
    submitted, what waits is cancelled, and nothing that runs is waited for.

    Parameters
    ----------
    call
        Returns the function and its arguments for a key; asked just before it is submitted.
    """
    waiting = deque(keys)
    retries: Counter[Key] = Counter()
    running: dict[Future[Any], Key] = {}
    try:
        while (waiting or running) and not (stop is not None and stop.is_set()):
            while waiting and len(running) < AHEAD * workers.number:
                key = waiting.popleft()
                running[_submitted(workers, call(key))] = key
            done, _ = wait(running, timeout=POLL_S, return_when=FIRST_COMPLETED)
            for future in done:
                key = running.pop(future)
                answer = _answer(future)
                if isinstance(answer, workers.lost):
                    if retries[key] < RETRIES:
                        retries[key] += 1
                        waiting.appendleft(key)
                        continue
                    answer = LostTooOften(f"its worker was lost {RETRIES + 1} times; the last time: {answer or 'gone'}")
                yield key, answer, retries[key]
    finally:
        for future in running:
            future.cancel()


def _submitted(workers: Workers, call: Submission) -> Future[Any]:
    """Returns the future of a call; where the executor refuses it, one that has failed for that reason."""
    try:
        function, *arguments = call
        return workers.executor.submit(function, *arguments)
    except Exception as error:
        refused: Future[Any] = Future()
        refused.set_exception(error)
        return refused


def _answer(future: Future[Any]) -> Any:
    try:
        return future.result()
    except BaseException as error:  # a cancelled future raises what is no Exception
        return error
