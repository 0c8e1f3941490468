"""What the agent needs of the GPUs of a node."""

from collections.abc import Sequence
from typing import Protocol

from ..live import LiveNode
from ..steps import Step


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


class Device(Protocol):
    """The GPUs of one node."""

    def state(self) -> LiveNode:
        """Returns the state as the driver reports it now; raises DeviceError if it does not answer."""
        ...

    def apply(self, step: Step, timeout_s: float) -> None:
        """
        Carries out a step.

        Raises
        ------
        DeviceError
            If the driver refuses, or does not answer in time (TIMEOUT: the step may or may not have been carried
            out, which only `state` tells).
        """
        ...
