"""
Cores of plain processes: the CPU affinity of their threads, as the kernel has it (sched_setaffinity(2)).

A process is confined from its first instruction on: it takes over the affinity of the thread that forks it, and that
thread, the agent's, goes to the planned cores first. There the kernel also shows what it gives: it cuts a mask to the
CPUs of the cgroup's cpuset that are online, and tells nobody, so the agent reads its own mask back before it starts
anything.

Affinity confines a thread to cores as a slice does, with two differences. A process may change its own; many servers
pin each of their threads to one core, so what counts is that no thread may run on a CPU beyond the planned ones. And it
says nothing of memory: the kernel takes it from the NUMA node where a thread runs when it first writes there
(set_mempolicy(2), MPOL_DEFAULT), and moves none when the thread moves.
"""

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress

from ...solver.model.host_cores import cpu_list
from ..model.device_error import DeviceError
from .processes import PROC

PASSES = 50
"""How often the threads of a service are listed until none is new; each pass takes in what started during the last."""


@contextmanager
def this_thread_on(cpus: Collection[int]) -> Iterator[None]:
    """
    Keeps the calling thread on CPUs, so that a process which it starts is confined to them; then lets it go back.

    Raises
    ------
    DeviceError
        If the kernel gives it others, or fewer.
    """
    before = os.sched_getaffinity(0)
    try:
        _set(0, cpus)
        if (found := os.sched_getaffinity(0)) != set(cpus):
            raise _other(found, cpus)
        yield
    finally:
        os.sched_setaffinity(0, before)


def beyond(pids: Collection[int], cpus: Collection[int]) -> set[int]:
    """Returns the CPUs beyond some that a thread of these processes may run on; empty: they are confined to them."""
    return {cpu for pid in pids for thread in _threads(pid) for cpu in _of(thread) - set(cpus)}


def move_threads(pids_now: Callable[[], Collection[int]], cpus: Collection[int]) -> None:
    """
    Gives CPUs to every thread of some processes that may run elsewhere, while they run.

    Threads and processes may start meanwhile; each takes over the affinity of the thread that starts it. So they are
    listed again until a pass finds none to change: whoever started one after that listing had the new CPUs already, for
    it was listed itself. A thread that pinned itself to some of the new CPUs stays there.

    Parameters
    ----------
    pids_now
        Returns the processes as they are when it is called.

    Raises
    ------
    DeviceError
        If the kernel gives others or fewer, or threads start faster than they can be listed.
    """
    with this_thread_on(cpus):
        for _ in range(PASSES):
            astray = [thread for pid in pids_now() for thread in _threads(pid) if not _of(thread) <= set(cpus)]
            if not astray:
                return
            for thread in astray:
                with suppress(ProcessLookupError):
                    _set(thread, cpus)
    message = f"threads that may run beyond CPUs {cpu_list(cpus)} are there after {PASSES} times that all were moved"
    raise DeviceError("IN_USE", message, hint="The service may set the affinity of its threads itself")


def _threads(pid: int) -> list[int]:
    """Returns the threads of a process; none: it is gone."""
    with suppress(OSError):
        return [int(entry.name) for entry in (PROC / str(pid) / "task").iterdir()]
    return []


def _of(thread: int) -> set[int]:
    """Returns the CPUs that a thread may run on; none: it is gone."""
    with suppress(ProcessLookupError):
        return os.sched_getaffinity(thread)
    return set()


def _set(thread: int, cpus: Collection[int]) -> None:
    try:
        os.sched_setaffinity(thread, cpus)
    except PermissionError as error:
        message = f"the affinity of thread {thread} cannot be set: {error.strerror}"
        raise DeviceError("NO_PERMISSION", message, hint="It takes root, or CAP_SYS_NICE") from error
    except ProcessLookupError:
        raise
    except OSError as error:
        raise _other(set(), cpus) from error


def _other(found: Collection[int], cpus: Collection[int]) -> DeviceError:
    message = f"the kernel gives CPUs {cpu_list(found) or 'none'}, not {cpu_list(cpus)}"
    hint = "See cpuset.cpus.effective of the agent's cgroup, and /sys/devices/system/cpu/online"
    return DeviceError("INVALID_ARGUMENT", message, hint=hint)
