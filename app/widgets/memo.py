"""Work that a script run need not repeat: kept until what it was made of changes."""

from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from sliceplan.solver.model.base import Record

Made = TypeVar("Made")


def made_once(place: str, of: tuple[object, ...], make: Callable[[], Made]) -> Made:
    """
    Returns what `make` gave when it was last called for this place with the same inputs, else calls it.

    Records are the same if they are one object, as comparing large plans takes long; other inputs if they are equal.
    """
    key = f"made_once.{place}"
    kept = st.session_state.get(key)
    if kept is None or not _same(kept[0], of):
        kept = (of, make())
        st.session_state[key] = kept
    made: Made = kept[1]
    return made


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    if len(one) != len(other):
        return False
    return all(a is b or (not isinstance(a, Record) and a == b) for a, b in zip(one, other, strict=True))
