"""What an agent works with: its GPUs, its folder, its patience, and where it reports to."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ..devices.device import Device
from ..model.core_steps import CheckOnCores, StopOnCores
from ..model.desired import Desired
from ..model.steps import CheckHealth, ResetGpu, Step, StopService
from .state_folder import StateFolder

TIME_LIMITS_S: dict[type[Step], float] = {
    ResetGpu: 300.0,
    StopService: 300.0,
    StopOnCores: 300.0,
    CheckHealth: 900.0,
    CheckOnCores: 900.0,
}
"""Limits of steps that wait for others: for firmware, for requests in flight, for a model to load."""


@dataclass(frozen=True)
class Patience:
    """How long to wait, and how often to try."""

    drain_s: float | None = None
    """How long to wait for processes of others to leave what is to be destroyed; None: do not, refuse."""
    tries: int = 4
    """How often a destruction is tried that is refused as in use: a client that ended may be counted for a while."""
    tries_back: int = 3
    """How often going back is tried."""
    pause_s: float = 0.5
    """Pause before the second try; it doubles with each one."""
    step_s: float | None = None
    """Time limit of the steps that have none of their own (`TIME_LIMITS_S`); None: 60 s."""

    def limit_s(self, step: Step) -> float:
        """Returns the time limit of a step."""
        return TIME_LIMITS_S.get(type(step), self.step_s or 60.0)


def now() -> str:
    """Returns the time, UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _never() -> bool:
    return False


@dataclass(frozen=True)
class Session:
    """One run of the agent, under its lock."""

    device: Device
    folder: StateFolder
    patience: Patience = field(default_factory=Patience)
    say: Callable[[str], None] = print
    """Gets one line for each thing that happens."""
    stop_asked: Callable[[], bool] = _never
    """Whether to stop after the step that is running."""
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    time: Callable[[], str] = now
    hooks: Sequence[Sequence[str]] = ()
    """Commands to run after a success (refresh CDI, restart the device plugin), from the agent's own configuration."""
    verified: Callable[[bytes], Desired] | None = None
    """
    Returns what a signed plan that was begun wants, raises InputError unless a trusted key signed it; None: this node
    takes plans that nobody signed.
    """
    node_lock: Path | None = None
    """File that every agent of the node locks, whatever its state folder; None: nobody else knows this node."""
