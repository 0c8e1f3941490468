"""The processes of a service, as units of systemd or plain: started one after the other, known, and ended."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ..model.device_error import DeviceError
from . import plain, systemd
from .launch import Launch
from .records import Process
from .template import ServiceTemplate


def start_all(
    wanted: Sequence[Launch], done: list[Process], note: Callable[[list[Process]], None], log_folder: Path
) -> None:
    """
    Starts processes one after the other.

    Parameters
    ----------
    done
        Those that run already; the others are added.
    note
        Is told all of them before each one starts, so that a kill leaves none unknown.
    """
    note([*done, *(_not_started(launch) for launch in wanted)])
    for number, launch in enumerate(wanted, 1):
        done.append(_start_one(launch, log_folder))
        note([*done, *(_not_started(later) for later in wanted[number:])])


def _not_started(launch: Launch) -> Process:
    return Process(launch=launch, pid=None, started=None)


def _start_one(launch: Launch, log_folder: Path) -> Process:
    if launch.runner == "systemd":
        systemd.start(launch)
        return _not_started(launch)
    pid, started = plain.start(launch, log_folder)
    return Process(launch=launch, pid=pid, started=started)


def end_all(
    started: Sequence[Process], name: str, timeout_s: float, before_kill: Callable[[list[int]], None] = lambda _: None
) -> None:
    """Ends the processes of a service: asks them, waits as long as their template says, kills what is left."""
    for process in started:
        if process.launch.runner == "systemd":
            systemd.stop(process.launch.unit, process.launch.drain_s)
    known = [(one.pid, one.started) for one in started if one.pid is not None and one.started is not None]
    drain_s = min(max((one.launch.drain_s for one in started), default=0.0), timeout_s)
    plain.stop(known, name, drain_s, before_kill)


def pids_by_service(services: Sequence[Sequence[Process]]) -> list[list[int | None]]:
    """
    Returns the id of each process of each service, None: it does not run.

    Units of all services are looked up in one call of systemctl.
    """
    of_units = [one.launch.unit for started in services for one in started if one.launch.runner == "systemd"]
    unit = iter(systemd.main_pids(of_units))
    return [
        [next(unit) if one.launch.runner == "systemd" else _plain_pid(one) for one in started] for started in services
    ]


def running_pids(processes: Sequence[Process]) -> set[int]:
    """Returns the ids of those processes that run."""
    return {pid for pid in pids_by_service([processes])[0] if pid is not None}


def runs(process: Process) -> bool:
    """Tells whether a process runs."""
    return bool(running_pids([process]))


def _plain_pid(process: Process) -> int | None:
    if process.pid is None or process.started is None or not plain.is_alive(process.pid, process.started):
        return None
    return process.pid


def free_ports(template: ServiceTemplate | None, started: Sequence[Process]) -> Iterator[int]:
    """Yields the ports of a template that no process of a service has; raises DeviceError once there is none."""
    if template is None or template.ports is None:
        return
    taken = {one.launch.port for one in started}
    first, last = template.ports
    yield from (port for port in range(first, last + 1) if port not in taken)
    message = f"no port of {first} to {last} is free"
    raise DeviceError("INSUFFICIENT_RESOURCES", message, hint="Widen `ports` in the agent's configuration")
