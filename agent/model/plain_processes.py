"""
Plain processes on cores, in words that a shell can run: what starts them there, finds them, moves and ends them.

The agent itself runs none of these words: it makes the same system calls (system/affinity.py).
"""

from collections.abc import Callable, Sequence

from .core_steps import CoreStep
from .service_environment import MARK

PlainProcesses = Callable[[CoreStep], tuple[str, ...] | None]
"""
Step -> the command of its service where that is a plain process, its placeholders as its template has them; None: a
slice has its cores.
"""


def in_slices(_step: CoreStep) -> None:
    """A PlainProcesses: every service on cores is in a slice."""
    return


def starting_on(cpus: str, command: Sequence[str]) -> list[str]:
    """Returns the words that start a process on CPUs: from its first instruction on it has that affinity."""
    return ["taskset", "--cpu-list", cpus, *command]


def moving_to(cpus: str) -> list[str]:
    """Returns the words that move all threads of a process; its id is to follow."""
    return ["taskset", "--all-tasks", "--cpu-list", "--pid", cpus]


def finding(name: str) -> list[str]:
    """Returns the words that print the files of all processes of a service: /proc/PID/environ."""
    # Lines end in NUL there, and a variable is a whole line: no service is found by a part of another one's name.
    return ["grep", "--files-with-matches", "--no-messages", "--null-data", "--line-regexp", f"{MARK}={name}"]
