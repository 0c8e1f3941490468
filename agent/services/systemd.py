"""Services as transient units of systemd, which restarts them when they fail and keeps their log in the journal."""

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
    command = ["systemctl", "show", unit_name(unit), "--property=ActiveState", "--property=MainPID"]
    shown = dict(line.split("=", 1) for line in run_tool(command, TOOL_S).splitlines() if "=" in line)
    pid = shown.get("MainPID", "0")
    is_up = shown.get("ActiveState") in ("active", "activating", "reloading", "deactivating")
    return int(pid) if is_up and pid.isdigit() and pid != "0" else None
