"""
One worker process, as its owner sees it.

A process of our own rather than one of `ProcessPoolExecutor`, for what long searches in a server need: one that is
lost takes one call with it and not all that run; a call tells how far it is, and can be ended with its best answer so
far; and nothing is imported again from `__main__`, which under Streamlit is the page. POSIX only (it inherits a
file descriptor).
"""

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from multiprocessing import Pipe
from typing import Any

from ..runtime.progress import Listener, Watcher
from .child import ANSWER, CALL, REPORT, SO_FAR, STOP

POLL_S = 0.05
"""How often a call looks whether it is to be stopped."""

GRACE_S = 30.0
"""How long a call that is stopped may take to put its best answer so far together, before its process is killed."""

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Processes share the cores among themselves."""


class LostWorkerError(BrokenExecutor):
    """The process that a call ran in is gone; the call itself may be fine."""


class Worker:
    """A process that serves calls, one at a time; it starts at once and imports while nobody waits for it."""

    def __init__(self, preload: Sequence[str] = ()) -> None:
        self._connection, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", f"{__package__}.child", str(theirs.fileno()), *preload],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, **ONE_THREAD},
                start_new_session=True,  # Ctrl-C on the terminal is for the owner to handle
            )
        self._calls = 0
        self._is_spent = False

    @property
    def is_usable(self) -> bool:
        """Whether it can serve a further call: it lives, and no search that was given up still runs in it."""
        return not self._is_spent and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def call(
        self,
        function: Callable[..., Any],
        arguments: Sequence[Any],
        options: Mapping[str, Any],
        *,
        stop: threading.Event,
        on_report: Listener,
        on_so_far: Watcher,
    ) -> Any:
        """
        Returns what a function gives in the process; raises what it raises there.

        Parameters
        ----------
        stop
            When it is set, the searches of the call end with their best answers so far.
        on_report
            Called with what the searches report.
        on_so_far
            Called with what the call hands on before its answer.

        Raises
        ------
        LostWorkerError
            If the process ends before it answers, or does not answer in time after it is stopped.
        """
        data = pickle.dumps((function, tuple(arguments), dict(options)))
        try:
            self._connection.send_bytes(CALL + data)
            self._calls += 1
            return self._answer(stop, {REPORT: on_report, SO_FAR: on_so_far})
        except (EOFError, OSError) as error:
            self.close()
            raise LostWorkerError(f"the worker process ended ({_ending(self._process.returncode)})") from error

    def _answer(self, stop: threading.Event, on: Mapping[str, Callable[[Any], object]]) -> Any:
        deadline = None
        self._is_spent = True  # until it has answered, so that no call takes another's answer
        while True:
            if stop.is_set() and deadline is None:
                self._connection.send_bytes(STOP + str(self._calls - 1).encode())
                deadline = time.monotonic() + GRACE_S
            if not self._connection.poll(POLL_S):
                if deadline is not None and time.monotonic() > deadline:
                    self.close()
                    raise LostWorkerError(f"the worker process did not stop within {GRACE_S:g} s and was killed")
                continue
            kind, content, searches_on = pickle.loads(self._connection.recv_bytes())
            if kind in on:
                on[kind](content)
                continue
            self._is_spent = searches_on
            if kind == ANSWER:
                return content
            raise content

    def kill(self) -> None:
        """Ends the process, whatever runs in it; may come from another thread than the calls."""
        self._is_spent = True
        self._process.kill()

    def close(self) -> None:
        """Ends the process and forgets it."""
        self.kill()
        self._process.wait()
        self._connection.close()


def _ending(code: int) -> str:
    return f"killed by signal {-code}; out of memory?" if code < 0 else f"exit code {code}"
