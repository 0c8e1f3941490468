"""Services as plain processes: each in a session of its own, so that it survives the agent, with its log in a file."""

import contextlib
import os
import pwd
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ..model.device_error import DeviceError
from ..model.service_environment import MARK
from ..system import processes
from .launch import Launch

POLL_S = 0.05

LOG_BYTES = 16 * 2**20
"""A log that is larger when its service starts is put aside; the one put aside before is dropped."""


def start(launch: Launch, log_folder: Path) -> tuple[int, int]:
    """Starts a process; returns its id and its start time, which together no other process of this boot has."""
    user, group, groups = _identity(launch.user)
    with _log(log_folder / f"{launch.unit}.log") as log:
        try:
            process = subprocess.Popen(
                list(launch.argv),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**_base_environment(launch.user), **launch.environment},
                cwd="/",
                start_new_session=True,
                user=user,
                group=group,
                extra_groups=groups,
            )
        except (OSError, subprocess.SubprocessError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            message = f"{launch.unit} cannot be started: {launch.argv[0]}: {reason}"
            raise DeviceError("UNKNOWN", message, hint="See `services` in the agent's configuration") from error
    # It is meant to outlive this object, which would otherwise warn that nobody waited for it.
    process.returncode = 0
    return process.pid, processes.start_time(process.pid) or 0


def is_alive(pid: int, started: int) -> bool:
    """Tells whether it is still that process which runs, and no other that was given its id later."""
    _reap(pid)
    return started != 0 and processes.start_time(pid) == started


def stop(
    known: Sequence[tuple[int, int]], service: str, drain_s: float, before_kill: Callable[[list[int]], None]
) -> None:
    """
    Ends the processes of a service: asks, waits, kills.

    Parameters
    ----------
    known
        Ids and start times.
    service
        Finds those of which no id was noted, because the agent was killed, and children that left the session.
    before_kill
        Called with what is left once `drain_s` has passed.

    Raises
    ------
    DeviceError
        If one survives.
    """
    leaders = {pid for pid, started in known if is_alive(pid, started)}
    members = of_service(leaders, service)
    # A leader tells its children itself, and may let them finish what they work on.
    for pid in leaders or members:
        _send(pid, signal.SIGTERM)
    if not (left := _wait(members, service, drain_s)):
        return
    before_kill(sorted(left))
    for pid in left:
        _send(pid, signal.SIGKILL)
    if left := _wait(left, service, 5.0):
        message = f"{service} does not end, even when killed; it may wait for its GPU"
        raise DeviceError("IN_USE", message, sorted(left), "If the GPU hangs, only a reset of it helps")


def of_service(leaders: set[int], service: str) -> set[int]:
    """Returns the processes of a service: those that it was started as, all of their sessions, and what is marked."""
    return leaders | processes.in_sessions(leaders) | set(marked(service))


def marked(service: str) -> list[int]:
    """Returns the processes whose environment says that they are of this service."""
    return [
        pid
        for pid in processes.pids()
        if processes.environment(pid).get(MARK) == service and processes.start_time(pid) is not None
    ]


def _wait(pids: set[int], service: str, timeout_s: float) -> set[int]:
    """Waits for processes to end; returns those that are left, their children too."""
    started = {pid: processes.start_time(pid) for pid in pids}
    end = time.monotonic() + timeout_s
    while True:
        left = {pid for pid, at in started.items() if at is not None and is_alive(pid, at)}
        if not left:
            left = set(marked(service))
            if not left:
                return set()
        if time.monotonic() >= end:
            return left
        time.sleep(POLL_S)


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


@contextlib.contextmanager
def _log(path: Path) -> Iterator[int]:
    """Yields the open log of a service."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size > LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o640)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _base_environment(user: str | None) -> dict[str, str]:
    """Returns what every process needs; the agent's own environment is not handed on."""
    base = {"PATH": os.environ.get("PATH", os.defpath), "LANG": os.environ.get("LANG", "C.UTF-8")}
    with contextlib.suppress(KeyError):
        base["HOME"] = (pwd.getpwnam(user) if user else pwd.getpwuid(os.geteuid())).pw_dir
    return base


def _identity(user: str | None) -> tuple[int | None, int | None, list[int] | None]:
    """Returns the ids of a user, its group and its other groups; None: those of the agent."""
    if user is None:
        return None, None, None
    try:
        entry = pwd.getpwnam(user)
    except KeyError as error:
        raise DeviceError("NOT_FOUND", f"there is no user {user!r} on this node") from error
    return entry.pw_uid, entry.pw_gid, os.getgrouplist(user, entry.pw_gid)
