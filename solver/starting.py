"""
How a command line of sliceplan starts: quickly for Ctrl-C, and with an output that no character can break.

Importing the command line takes a good part of a second. An interruption then would end in a traceback out of whatever
was being imported, or be swallowed there; so the process ends at once, as it does for any program that is not Python's.
"""

import signal
import sys
from collections.abc import Callable
from importlib import import_module


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


def sliceplan() -> None:
    """Runs `sliceplan`."""
    started("sliceplan.solver.cli")()


def sliceplan_agent() -> None:
    """Runs `sliceplan-agent`."""
    started("sliceplan.agent.cli")()
