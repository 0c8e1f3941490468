"""Asking a process whether it serves."""

import time
from collections.abc import Callable

from ..model.device_error import DeviceError
from ..system.processes import run_tool
from .template import HealthCheck


def wait_until_healthy(health: HealthCheck, timeout_s: float, still_runs: Callable[[], bool], what: str) -> None:
    """
    Asks until the answer is good.

    Raises
    ------
    DeviceError
        If it is not good in time, or the process ends; with the last answer.
    """
    limit = min(health.within_s, timeout_s)
    end = time.monotonic() + limit
    while True:
        answer = ask(health)
        if answer is None:
            return
        if not still_runs():
            raise DeviceError("UNKNOWN", f"{what} ended before it was healthy", hint="Its log says why")
        if time.monotonic() + health.interval_s > end:
            message = f"{what} is not healthy after {limit:g} s: {answer}"
            raise DeviceError("TIMEOUT", message, hint="Its log says why, or `within_s` is too short")
        time.sleep(health.interval_s)


def ask(health: HealthCheck) -> str | None:
    """Asks once; returns what is wrong, None if nothing is."""
    if health.command is not None:
        try:
            run_tool(health.command, health.timeout_s)
        except DeviceError as error:
            return error.message
        return None
    from .local_http import ask_http

    return ask_http(health.http or "", health.timeout_s)
