"""Processes of this node, as /proc tells of them; and the only place that runs another program and waits for it."""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..model.device_error import DeviceError

PROC = Path("/proc")

SHOWN = 400
"""Characters of a program's own message that are shown."""


def run_tool(
    argv: Sequence[str], timeout_s: float, environment: Mapping[str, str] | None = None, stdin: str | None = None
) -> str:
    """
    Runs a program and returns what it prints; no shell is involved.

    Parameters
    ----------
    environment
        Variables to add to the agent's own.

    Raises
    ------
    DeviceError
        If it is missing, fails (with its own words), or does not end in time; it is killed then.
    """
    name = Path(argv[0]).name
    try:
        done = subprocess.run(
            list(argv),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            env={**os.environ, **(environment or {})},
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DeviceError("TIMEOUT", f"{name} did not end within {timeout_s:g} s") from error
    except FileNotFoundError as error:
        hint = "It comes with NVIDIA's driver" if name.startswith("nvidia") else None
        raise DeviceError("NOT_FOUND", f"there is no program {argv[0]}", hint=hint) from error
    except OSError as error:
        raise DeviceError("UNKNOWN", f"{argv[0]} cannot be run: {error.strerror}") from error
    if done.returncode:
        said = " ".join((done.stderr.strip() or done.stdout.strip()).split())[:SHOWN]
        raise DeviceError("UNKNOWN", f"{name} ended with {done.returncode}: {said or 'it said nothing'}")
    return done.stdout


def boot_id() -> str:
    """Returns what tells one boot of this node from another."""
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"


def pids() -> list[int]:
    """Returns all processes."""
    return sorted(int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())


def start_time(pid: int) -> int | None:
    """Returns when a process started (clock ticks since boot); None: it is gone, or has ended and nobody noticed."""
    fields = _stat(pid)
    return None if fields is None or fields[0] in ("Z", "X") else int(fields[19])


def parent(pid: int) -> int | None:
    """Returns the process that a process belongs to."""
    fields = _stat(pid)
    return None if fields is None else int(fields[1])


def in_sessions(leaders: set[int]) -> set[int]:
    """Returns the processes of some sessions, each named by the process that leads it."""
    return {pid for pid in pids() if (fields := _stat(pid)) is not None and int(fields[3]) in leaders}


def belongs_to(pid: int, ancestors: set[int]) -> bool:
    """Tells whether a process is one of some, or descends from one."""
    seen = set()
    current: int | None = pid
    while current and current not in seen:
        if current in ancestors:
            return True
        seen.add(current)
        current = parent(current)
    return False


def name_of(pid: int) -> str:
    """Returns the name of a process (at most 15 characters); empty: it is gone."""
    try:
        return (PROC / str(pid) / "comm").read_text(errors="replace").strip()
    except OSError:
        return ""


def arguments(pid: int) -> list[str]:
    """Returns the command line of a process; empty: it is gone, or not ours to see."""
    return _words(pid, "cmdline")


def environment(pid: int) -> dict[str, str]:
    """Returns the environment that a process was started with; empty: it is gone, or not ours to see."""
    return dict(word.split("=", 1) for word in _words(pid, "environ") if "=" in word)


def holders(paths: Sequence[str]) -> Iterator[int]:
    """Yields the processes that hold one of some files open (needs root for those of others)."""
    wanted = set(paths)
    for pid in pids():
        try:
            for descriptor in (PROC / str(pid) / "fd").iterdir():
                try:
                    if str(descriptor.readlink()) in wanted:
                        yield pid
                        break
                except OSError:
                    continue
        except OSError:
            continue


def _stat(pid: int) -> list[str] | None:
    """Returns the fields of /proc/PID/stat from the third on (state, parent, ...; proc(5))."""
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The name may hold blanks and brackets; the last bracket ends it.
    return text[text.rindex(")") + 2 :].split()


def _words(pid: int, file: str) -> list[str]:
    try:
        data = (PROC / str(pid) / file).read_bytes()
    except OSError:
        return []
    return [word.decode(errors="replace") for word in data.split(b"\0") if word]
