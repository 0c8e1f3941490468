"""The error of every call that a GPU, a daemon or a service refuses."""

from collections.abc import Sequence

NUMBERS = {
    "INVALID_ARGUMENT": 2,
    "NOT_SUPPORTED": 3,
    "NO_PERMISSION": 4,
    "NOT_FOUND": 6,
    "TIMEOUT": 10,
    "GPU_IS_LOST": 15,
    "IN_USE": 19,
    "INSUFFICIENT_RESOURCES": 23,
    "UNKNOWN": 999,
}
"""Errors that are given by their names here (nvml.h, nvmlReturn_t)."""


class DeviceError(Exception):
    """
    A GPU refused a step; name and number as in NVML.

    Where no NVML call failed but a service or a daemon, name and number are those of the nearest NVML error:
    TIMEOUT for what took too long, UNKNOWN for the rest.

    Parameters
    ----------
    name
        One of NUMBERS unless the number is given, as it is where NVML itself said it.
    """

    def __init__(
        self,
        name: str,
        message: str,
        pids: Sequence[int] = (),
        hint: str | None = None,
        *,
        number: int | None = None,
    ) -> None:
        number = NUMBERS[name] if number is None else number
        holders = f" by pid {', '.join(map(str, pids))}" if pids else ""
        advice = f". {hint}" if hint else ""
        super().__init__(f"{message}{holders} (NVML_ERROR_{name}, {number}){advice}")
        self.name = name
        self.number = number
        self.message = message
        self.pids = tuple(pids)
        """Processes that are in the way; the message does not name them."""
        self.hint = hint
        """What a person can do about it."""
