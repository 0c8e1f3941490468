"""
How a command line of sliceplan starts: quickly for Ctrl-C, and with an output that no character can break.

Importing the command line takes a good part of a second. An interruption then would end in a traceback out of whatever
was being imported, or be swallowed there; so the process ends at once, as it does for any program that is not Python's.

Commands import the solvers when they need them. Nothing is being written then, so that the process may end at once
there too. Elsewhere an interruption is Python's, an exception; where no exception can pass, it is repeated.
"""

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from types import FrameType
from typing import TextIO

from .runtime.frame_room import with_frame_room
from .runtime.importing import imports
from .runtime.interruption import GivenUpError

INTERRUPTED = "interrupted; no file is left half-written"


def started(module: str) -> Callable[[], None]:
    """Returns `main` of a module, imported in such a way; the signal is Python's again afterwards."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        main: Callable[[], None] = import_module(module).main
    finally:
        signal.signal(signal.SIGINT, before)
    for stream in (sys.stdout, sys.stderr):
        # Where a terminal knows ASCII only, the code of a character is shown in its place.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    return main


def keep_output_ours() -> None:
    """
    Leaves the standard output to what Python prints; what libraries print by themselves goes to the standard error.

    HiGHS has a line of its own for some programs, which no option silences; at the end of a plan it is no JSON.
    """
    before = sys.stdout
    if before is None:  # it was closed: nobody reads it
        sys.stdout = _left_open(os.open(os.devnull, os.O_WRONLY), "utf-8", "replace", 1)
        return
    own = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = _left_open(own, before.encoding, before.errors, 1 if before.line_buffering else -1)


def _left_open(descriptor: int, encoding: str, errors: str | None, buffering: int) -> TextIO:
    """Returns a stream that is open until the process ends, as Python's own are."""
    return open(descriptor, "w", encoding=encoding, errors=errors, buffering=buffering, closefd=False)


def sliceplan() -> None:
    """Runs `sliceplan`."""
    main = started("sliceplan.solver.cli")
    keep_output_ours()
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return with_frame_room(main)  # whoever started it wants none
    signal.signal(signal.SIGINT, interrupted)
    sys.unraisablehook = _unraisable
    try:
        return with_frame_room(main)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # all is written; Python's own end has no place for exceptions
        # Else the interpreter looks through all objects at its end, a tenth of a second, for cycles that die with it.
        gc.disable()
        gc.freeze()


def interrupted(_: int, frame: FrameType | None) -> None:
    """Handles an interruption: ends the process while something is imported, raises KeyboardInterrupt elsewhere."""
    if imports(frame):
        os.write(2, f"{INTERRUPTED}\n".encode())
        os._exit(130)
    raise KeyboardInterrupt


def _unraisable(error: "sys.UnraisableHookArgs") -> None:
    """Repeats an interruption where nothing can be raised, as in what ends an object; a search is told again anyway."""
    if issubclass(error.exc_type, KeyboardInterrupt):
        here = threading.main_thread().ident or 0
        threading.Timer(0.01, signal.pthread_kill, [here, signal.SIGINT]).start()
    elif not issubclass(error.exc_type, GivenUpError):
        sys.__unraisablehook__(error)


def sliceplan_agent() -> None:
    """Runs `sliceplan-agent`."""
    with_frame_room(started("sliceplan.agent.cli"))
