"""Calls that tests have worker processes do."""

import os
import signal
import time
from pathlib import Path

from sliceplan.solver.runtime.interruption import best_so_far, interruption, offer
from sliceplan.solver.runtime.progress import report, watcher


def die_the_first_times(marks, times):
    """Kills its own process at the first calls, which leave marks in a file; returns the number of calls."""
    with Path(marks).open("a") as file:
        file.write("x")
    calls = Path(marks).stat().st_size
    if calls <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return calls


def search_without_end(offered):
    """Offers an answer, says so, and goes on for long."""

    def search():
        offer(lambda _: offered)
        report("offered")
        time.sleep(60)
        return "too late"

    return best_so_far(search, nothing=lambda _: "nothing")


def find_and_die(found):
    """Hands on what was found so far, and kills its own process."""
    watcher()(found)
    os.kill(os.getpid(), signal.SIGKILL)


def find_and_wait(found):
    """Hands on what was found so far; waits for its interruption."""
    watcher()(found)
    interruption().wait(60)
    return "best so far"


def wait_for(path):
    """Waits until a file exists."""
    deadline = time.monotonic() + 60
    while not Path(path).exists():
        if time.monotonic() > deadline:
            raise TimeoutError(path)
        time.sleep(0.01)
