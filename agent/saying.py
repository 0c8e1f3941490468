"""
What the agent says. Nobody need listen: where nothing can be printed any more (a pipe whose reader has gone, a full
disk), the work goes on in silence, for a transition that ends half-way is worse than one that nobody sees.
"""

import os
import sys
from typing import TextIO


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
        print(text, file=stream, flush=True)
    except (OSError, ValueError):
        lead_nowhere(stream)


def lead_nowhere(stream: TextIO) -> None:
    """Lets all that is printed from here on vanish, also what waits in the stream for the interpreter's end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    except (OSError, ValueError):
        return  # it is closed, or no file: each line fails as this one did
    finally:
        os.close(nowhere)
