"""What is saved for a problem, plans or sweeps: listed, one chosen, and what can be done with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import pandas as pd
import streamlit as st
from sqlalchemy import Engine

from sliceplan.app.access.current import current_identity
from sliceplan.app.access.identity import Identity
from sliceplan.app.session.session import Session
from sliceplan.app.store.shared import shared_store
from sliceplan.app.widgets.attempts import attempt
from sliceplan.app.widgets.tables import show_table

from .choosing import COLUMNS, NOTES, choose, kept_toggle, say


class Saved(Protocol):
    """What all that is saved has."""

    @property
    def id(self) -> int:
        """Number in the store."""
        ...


SavedT = TypeVar("SavedT", bound=Saved)

BUTTONS = 4
"""Beside each other; places that no button takes stay free."""


class Put(Protocol):
    """Puts one away, or takes it back."""

    def __call__(self, store: Engine, number: int, /, *, by: Identity) -> None: ...


@dataclass(frozen=True)
class Kind(Generic[SavedT]):
    """A kind of thing that is saved for a problem."""

    name: str
    """As `plan`; with an s the plural."""
    nothing: str
    """Said where none is saved."""
    list: Callable[..., tuple[SavedT, ...]]
    """From store, problem and `archived` to those in use, or the archived ones, the last saved first."""
    table: Callable[[Sequence[SavedT]], pd.DataFrame]
    words: Callable[[SavedT], str]
    """One of them in a line."""
    archive: Put
    unarchive: Put


@dataclass(frozen=True)
class Act(Generic[SavedT]):
    """Something that can be done with the chosen one."""

    label: str
    key: str
    help: str
    do: Callable[[Session, SavedT], Any]


def show_saved(session: Session, name: str, kind: Kind[SavedT], acts: Sequence[Act[SavedT]]) -> None:
    """Draws what is saved for a problem, and the buttons for the chosen one."""
    one, several = kind.name, f"{kind.name}s"
    archived = kept_toggle(session, f"history.archived_{several}", f"Show archived {several}")
    found = kind.list(shared_store(), name, archived=archived)
    if not found:
        st.info(f"No {one} of this problem was archived." if archived else kind.nothing)
        return
    show_table(kind.table(found), f"saved_{several}", columns=COLUMNS, wrapped=NOTES, key=f"saved_{several}")
    by_id = {each.id: each for each in found}
    key = f"history.{one}.{name}"
    chosen = by_id[choose(session, key, one.title(), list(by_id), words=lambda number: kind.words(by_id[number]))]
    buttons = st.container(key=f"beside_{several}")
    *places, last = buttons.columns([1] * len(acts) + [1, BUTTONS - len(acts) - 1])[: len(acts) + 1]
    for place, act in zip(places, acts, strict=True):
        if place.button(act.label, key=act.key, width="stretch", help=act.help):
            attempt(partial(act.do, session, chosen))
    if last.button(
        "Restore from the archive" if archived else f"Archive this {one}",
        disabled=not current_identity().may_save,
        key=f"archive_{one}",
        width="stretch",
    ):
        attempt(partial(_unarchive if archived else _archive, session, kind, chosen.id))


def _archive(session: Session, kind: Kind[Any], number: int) -> None:
    kind.archive(shared_store(), number, by=current_identity())
    say(session, f"{kind.name.title()} {number} is archived.")


def _unarchive(session: Session, kind: Kind[Any], number: int) -> None:
    kind.unarchive(shared_store(), number, by=current_identity())
    say(session, f"{kind.name.title()} {number} is in use again.")
