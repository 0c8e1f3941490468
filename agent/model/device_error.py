"""The error of every call that a GPU, a daemon or a service refuses."""

from collections.abc import Sequence


class DeviceError(Exception):
    """
    A GPU refused a step; name and number as in NVML.

    Where no NVML call failed but a service or a daemon, name and number are those of the nearest NVML error:
    TIMEOUT 10 for what took too long, UNKNOWN 999 for the rest.
    """

    def __init__(self, name: str, number: int, message: str, pids: Sequence[int] = (), hint: str | None = None) -> None:
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
