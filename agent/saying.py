"""
What the agent says. Nobody need listen, for a transition that ends half-way is worse than one that nobody sees: where
nothing can be printed any more (a pipe whose reader has gone, a full disk), the work goes on in silence; where nobody
reads for a while (a terminal that was stopped, a pager), it goes on too, and what was not shown is counted.
"""

import os
import select
import sys
from typing import TextIO

from ..solver.model.words import counted

PATIENCE_S = 10.0
"""How long one line waits for room."""

_left_out: dict[TextIO, int] = {}
"""Lines for which there was no room since the last one that was shown."""


def say(text: object = "") -> None:
    """Prints a line at once, if it can be."""
    _print(text, sys.stdout)


def say_error(text: object) -> None:
    """Prints a line to the standard error, if it can be."""
    _print(text, sys.stderr)


def hold_standard_descriptors() -> None:
    """Opens nothing in place of a standard stream that is closed, so that no file gets its number, and its output."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free, which is this one


def _print(text: object, stream: TextIO | None) -> None:
    if stream is None:  # it was closed when the process began
        return
    try:
        count = _left_out.get(stream, 0)
        if not _has_room(stream, 0.0 if count else PATIENCE_S):
            _left_out[stream] = count + 1
            return
        if _left_out.pop(stream, 0):
            print(f"({counted(count, 'line')} left out, which nobody read in time)", file=stream)
        print(text, file=stream, flush=True)
    except (OSError, ValueError):
        lead_nowhere(stream)


def _has_room(stream: TextIO, timeout_s: float) -> bool:
    """Waits until a line can be written without waiting for a reader; tells whether it can."""
    try:
        number = stream.fileno()
    except (OSError, ValueError):
        return True  # no file: what stands in its place waits for nobody
    poll = select.poll()
    poll.register(number, select.POLLOUT)
    return bool(poll.poll(timeout_s * 1000))


def lead_nowhere(stream: TextIO) -> None:
    """Lets all that is printed from here on vanish, also what waits in the stream for the interpreter's end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    except (OSError, ValueError):
        return  # it is closed, or no file: each line fails as this one did
    finally:
        os.close(nowhere)
