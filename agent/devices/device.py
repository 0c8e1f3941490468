"""What the agent needs of the GPUs of a node."""

from typing import Protocol

from ..model.live import LiveNode
from ..model.steps import Step


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
