"""What the agent needs of the GPUs of a node."""

from typing import Protocol

from ..node import NodeState
from ..steps import Step


class DeviceError(Exception):
    """A GPU refused a step; name and number as in NVML."""

    def __init__(self, name: str, number: int, message: str) -> None:
        super().__init__(f"{message} (NVML_ERROR_{name}, {number})")
        self.name = name
        self.number = number


class Device(Protocol):
    """The GPUs of one node."""

    def state(self) -> NodeState:
        """Returns the state as the driver reports it now."""
        ...

    def apply(self, step: Step) -> None:
        """Carries out a step; raises DeviceError if the driver refuses."""
        ...
