"""A search as its user sees it: a line that says what goes on, and Ctrl-C ends it with the best answer so far."""

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ..runtime.interruption import interruptible_by
from ..runtime.progress import Report, listening
from .output import say, spinner

STDOUT = 1
"""The process's own, which libraries in C write to."""


@contextmanager
def searching(text: str) -> Iterator[Any]:
    """Shows what the searches in the block report, and lets Ctrl-C end them; yields a function to change the text."""
    with spinner(text) as update:

        def show(said: Report) -> None:
            update(said.text)

        with listening(show), _stopped_by_interrupt(), _stdout_for_answers():
            yield update


@contextmanager
def _stdout_for_answers() -> Iterator[None]:
    """Drops what solvers print in the block: HiGHS has a line of its own on stdout in about one search of a hundred."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
        own = os.dup(STDOUT)
    except OSError:  # it is closed, and nobody reads it
        yield
        return
    nobody = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nobody, STDOUT)
    os.close(nobody)
    try:
        yield
    finally:
        # What C's library has not written yet would come out later.
        ctypes.CDLL(None).fflush(None)
        os.dup2(own, STDOUT)
        os.close(own)


@contextmanager
def _stopped_by_interrupt() -> Iterator[None]:
    """The first Ctrl-C ends the searches in the block with their best answers so far; the second is as usual."""
    stop = threading.Event()

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        if stop.is_set() and callable(before):
            before(number, frame)
        stop.set()
        say("interrupted: ending with the best answer so far; once more to give it up")

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        with interruptible_by(stop):
            yield
    finally:
        signal.signal(signal.SIGINT, before)
