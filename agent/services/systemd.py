"""Services as transient units of systemd, which restarts them when they fail and keeps their log in the journal."""

from collections.abc import Sequence

from ..model.device_error import DeviceError
from ..system.processes import run_tool
from .launch import Launch

TOOL_S = 30.0
"""Limit of a call of systemd's tools, beyond the time that a unit takes to stop."""


def unit_name(unit: str) -> str:
    """Returns the name of the systemd unit of a launch."""
    return f"sliceplan-{unit}.service"


def start_command(launch: Launch) -> list[str]:
    """Returns the words that start a unit."""
    return [
        "systemd-run",
        f"--unit={unit_name(launch.unit)}",
        "--quiet",
        "--collect",
        "--service-type=exec",
        "--property=KillMode=mixed",
        "--property=Restart=on-failure",
        "--property=RestartSec=2",
        f"--property=TimeoutStopSec={launch.drain_s:g}",
        *([f"--slice={launch.slice}"] if launch.slice else []),
        *([f"--uid={launch.user}"] if launch.user else []),
        *(f"--setenv={name}={value}" for name, value in launch.environment.items()),
        "--",
        # systemd expands $VARIABLE in a command line, and takes $$ for a $.
        launch.argv[0],
        *(word.replace("$", "$$") for word in launch.argv[1:]),
    ]


def start(launch: Launch) -> None:
    """Starts a unit; raises DeviceError if systemd refuses."""
    run_tool(start_command(launch), TOOL_S)


def stop(unit: str, drain_s: float) -> None:
    """Stops a unit and waits; after the time to drain systemd kills what is left of it."""
    if main_pid(unit) is not None:
        run_tool(["systemctl", "stop", unit_name(unit)], drain_s + TOOL_S)
    if (pid := main_pid(unit)) is not None:
        raise DeviceError("IN_USE", f"{unit_name(unit)} does not stop", [pid])


def main_pid(unit: str) -> int | None:
    """Returns the main process of a unit; None: it does not run."""
    return main_pids([unit])[0]


def main_pids(units: Sequence[str]) -> list[int | None]:
    """
    Returns the main process of each unit, None: it does not run; all in one call, as each costs the start of a process.

    Raises
    ------
    DeviceError
        If systemd does not answer for each of them.
    """
    if not units:
        return []
    names = [unit_name(unit) for unit in units]
    command = ["systemctl", "show", "--property=ActiveState", "--property=MainPID", "--", *names]
    shown = [part for part in run_tool(command, TOOL_S).split("\n\n") if part.strip()]  # in the order of the names
    if len(shown) != len(units):
        message = f"systemctl shows {len(shown)} units and was asked for {len(units)}: {names[0]} and so on"
        raise DeviceError("UNKNOWN", message)
    return [_main_pid(part) for part in shown]


def _main_pid(shown: str) -> int | None:
    said = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
    pid = said.get("MainPID", "0")
    is_up = said.get("ActiveState") in ("active", "activating", "reloading", "deactivating")
    return int(pid) if is_up and pid.isdigit() and pid != "0" else None
