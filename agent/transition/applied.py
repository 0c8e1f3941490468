"""What was reached last, and from which plan; written only after the whole state was read back."""

from dataclasses import dataclass
from typing import Literal

from pydantic import ConfigDict

from ..model.desired import PlanReference
from ..model.device_key import DeviceKey
from ..model.node import DeviceState
from .records import record_from, record_json
from .state_folder import APPLIED, StateFolder


@dataclass(frozen=True)
class Applied:
    """The state that was reached last."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    when: str
    state: dict[DeviceKey, DeviceState]
    """The GPUs and CPUs that the agent looks after; all others are somebody else's."""
    plan: PlanReference | None
    """None: it was there before any plan, and came back by a rollback."""
    checkpoint: str
    """File with what was there before; `rollback` leads there."""
    rolled_back: PlanReference | None = None
    """The plan that a rollback undid: `run` does not apply it again."""
    version: Literal[1] = 1


def read_applied(folder: StateFolder) -> Applied | None:
    """Returns what was reached last; None: nothing was, yet."""
    content = folder.read(APPLIED)
    return None if content is None else record_from(Applied, content, str(folder.path / APPLIED))


def write_applied(folder: StateFolder, applied: Applied) -> None:
    """Remembers what was reached."""
    folder.write(APPLIED, record_json(applied))
