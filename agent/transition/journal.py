"""
The write-ahead journal of one transition, and the rule by which an interrupted one goes on.

It is a file of JSON lines. `begun` comes first and holds the state before and the state wanted; each step is written
down before it is carried out (`intended`) and after it was read back (`done` or `failed`); `ended` comes last. Every
line is on the disk before the agent goes on, so a killed agent may have done at most one step beyond its journal.

The rule. A transition goes forward, to the new state, until a line `turned_back` is written; from then on it goes back,
to the old state. Whoever finds a journal without `ended` goes on in that direction: the steps that are left are those
from the state read back to the one that it goes to, whether or not the step in flight was carried out. Going forward
turns back when a step fails or the rest is not possible any more. Going back that fails writes `stuck`; the next start
tries to go back again. A last line without its end was torn by the kill, and counts as not written.

A line that cannot be written, or not be flushed (a full disk, a failing one), ends the agent's work at once: no step is
carried out that the journal does not have. Whoever takes the journal up writes it anew first, for after a flush that
failed what is read may be in memory alone.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, RootModel

from ...solver.model.errors import Finding, InputError
from ..model.desired import PlanReference
from ..model.device_key import DeviceKey
from ..model.node import DeviceState
from .records import adapter, record_from
from .state_folder import DISCARDED, JOURNAL, StateFolder

DAMAGED = "is damaged. Look at the node, then go on from what is there: `sliceplan-agent apply --discard-journal`"

Purpose = Literal["apply", "repair", "rollback"]
"""repair: the plan that was applied already, on a node that drifted from it or was started anew."""


@dataclass(frozen=True)
class Begun:
    """A transition begins; nothing was changed yet."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    when: str
    purpose: Purpose
    old: dict[DeviceKey, DeviceState]
    new: dict[DeviceKey, DeviceState]
    plan: PlanReference | None
    """The plan of the new state; None: it has none."""
    checkpoint: str
    """File with what was there before."""
    back_to: str
    """File that the next rollback leads to: that checkpoint, or after a repair the one of the plan's own apply."""
    rolled_back: PlanReference | None = None
    """The plan that a rollback undoes."""
    event: Literal["begun"] = "begun"


@dataclass(frozen=True)
class Intended:
    """A step is about to be carried out."""

    step: str
    event: Literal["intended"] = "intended"


@dataclass(frozen=True)
class Done:
    """The step was carried out, and read back as promised."""

    step: str
    note: str | None = None
    """What went wrong on the way all the same."""
    event: Literal["done"] = "done"


@dataclass(frozen=True)
class Failed:
    """The step was not carried out, or not as promised."""

    step: str
    reason: str
    event: Literal["failed"] = "failed"


@dataclass(frozen=True)
class TurnedBack:
    """From here on the transition goes back to the old state."""

    reason: str
    event: Literal["turned_back"] = "turned_back"


@dataclass(frozen=True)
class Stuck:
    """Going back failed; a person is needed, or another try."""

    reason: str
    advice: str
    event: Literal["stuck"] = "stuck"


@dataclass(frozen=True)
class Ended:
    """The transition is over, and its state was read back."""

    outcome: Literal["applied", "rolled back", "discarded"]
    event: Literal["ended"] = "ended"


Line = Annotated[Begun | Intended | Done | Failed | TurnedBack | Stuck | Ended, Field(discriminator="event")]


class _AnyLine(RootModel[Line]):
    """One line of the file."""


@dataclass(frozen=True)
class Unfinished:
    """A transition that an agent left before its end."""

    begun: Begun
    turned_back: str | None
    """Why it goes back; None: it goes forward."""
    in_flight: str | None
    """The step that was intended last and is neither done nor failed; None: none."""
    stuck: Stuck | None
    """Its last try to go back failed."""

    @property
    def goes(self) -> str:
        """Which way it goes on: `on` to what it was begun for, or `back`."""
        return "on" if self.turned_back is None else "back"


class Journal:
    """The journal that the agent writes to."""

    def __init__(self, folder: StateFolder) -> None:
        self._folder = folder

    def begin(self, begun: Begun) -> None:
        """Starts a journal in place of the last one, whose transition has ended."""
        self._folder.write(JOURNAL, _text(begun))

    def take_up(self) -> None:
        """Writes the whole lines of a journal that was left anew, so that all of them are on the disk."""
        self._folder.write(JOURNAL, _whole(self._folder.read(JOURNAL) or b""))

    def set_aside(self) -> None:
        """Puts a journal that says no more in the place of this one, and keeps this one beside."""
        self._folder.write(DISCARDED, self._folder.read(JOURNAL) or b"")
        self._folder.write(JOURNAL, _text(Ended("discarded")))

    def write(self, line: Intended | Done | Failed | TurnedBack | Stuck | Ended) -> None:
        """Adds a line; returns when it is on the disk, and raises NotWrittenError if it cannot be."""
        self._folder.append(JOURNAL, _text(line))


def read_journal(folder: StateFolder) -> list[Line]:
    """Returns the whole lines of the journal; raises InputError if one of them is damaged."""
    content = folder.read(JOURNAL)
    if content is None:
        return []
    whole = _whole(content).splitlines()
    source = str(folder.path / JOURNAL)
    try:
        return [record_from(_AnyLine, line, f"{source}: line {number}").root for number, line in enumerate(whole, 1)]
    except InputError as error:
        raise InputError([*error.findings, Finding(source, "", DAMAGED)]) from error


def unfinished(folder: StateFolder) -> Unfinished | None:
    """Returns the transition that the journal leaves open; None: there is none."""
    lines = read_journal(folder)
    if not lines or isinstance(lines[-1], Ended):
        return None
    begun = lines[0]
    if not isinstance(begun, Begun):
        raise InputError([Finding(str(folder.path / JOURNAL), "", f"does not begin with a transition and {DAMAGED}")])
    turns = [line.reason for line in lines if isinstance(line, TurnedBack)]
    last = lines[-1]
    return Unfinished(
        begun,
        turns[-1] if turns else None,
        last.step if isinstance(last, Intended) else None,
        last if isinstance(last, Stuck) else None,
    )


def _whole(content: bytes) -> bytes:
    """Returns the whole lines; a torn one has no end."""
    return content[: content.rfind(b"\n") + 1]


def _text(line: Line) -> bytes:
    return adapter(type(line)).dump_json(line) + b"\n"
