"""Failures that a simulated node is told to have, as real ones do not come when a test needs them."""

from dataclasses import dataclass
from typing import Literal

from ...model.device_error import DeviceError

FailureKind = Literal[
    "busy",
    "insufficient_resources",
    "driver_error",
    "timeout_before",
    "timeout_after",
    "wrong_uuid",
    "half_done",
    "unhealthy",
]
"""
timeout_before, timeout_after: the call takes too long, and was not carried out, or was. wrong_uuid: the step succeeds,
and the next read-back gives a wrong UUID for an instance, as sessions of NVML do that were opened before a change.
half_done: a service starts with some of its processes only; any other step is refused. unhealthy: the step is refused
as a service is that does not pass its health check.
"""


@dataclass(frozen=True)
class Injection:
    """One failure."""

    at: int
    """The call of `apply` that fails, counted from 1 over the node's life."""
    kind: FailureKind
    times: int = 1
    """How many calls in succession fail."""

    def hits(self, call: int) -> bool:
        """Tells whether it makes that call fail."""
        return self.at <= call < self.at + self.times


FOREIGN_PID = 31337
"""The process that is in the way where an injected failure says that a GPU is busy."""


def error_of(injection: Injection, where: str, timeout_s: float) -> DeviceError | None:
    """Returns the error that a failure on a GPU or CPU raises; None: the call itself succeeds."""
    match injection.kind:
        case "busy":
            return DeviceError("IN_USE", f"{where} is in use by another client", [FOREIGN_PID])
        case "insufficient_resources":
            return DeviceError("INSUFFICIENT_RESOURCES", f"{where}: insufficient resources")
        case "driver_error":
            return DeviceError("UNKNOWN", f"{where}: the driver failed")
        case "timeout_before" | "timeout_after":
            return DeviceError("TIMEOUT", f"{where}: no answer within {timeout_s:g} s")
        case "half_done":
            return DeviceError("UNKNOWN", f"{where}: stopped in the middle")
        case "unhealthy":
            return DeviceError("UNKNOWN", f"{where}: a service did not pass its health check")
        case "wrong_uuid":
            return None
