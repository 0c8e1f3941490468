"""CPU time of what a benchmark has begun: it grows with other work on the machine far less than wall time does."""

import os
from collections import defaultdict
from pathlib import Path


def cpu_of_descendants_s(command: str = "") -> float:
    """
    Returns the CPU seconds, user and system, of this process's descendants, those that have ended included.

    `command`: only of living ones in whose command line it stands.
    """
    children, spent = defaultdict(list), {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):  # it has just ended, and its parent has its time
            continue
        pid = int(stat.parent.name)
        children[int(fields[1])].append(pid)
        spent[pid] = sum(map(int, fields[11:15]))
    found, total = [*children[os.getpid()]], 0
    while found:
        pid = found.pop()
        found += children[pid]
        if command in _command_of(pid):
            total += spent[pid]
    ended = os.times()
    of_ended = 0.0 if command else ended.children_user + ended.children_system
    return total / os.sysconf("SC_CLK_TCK") + of_ended


def _command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
