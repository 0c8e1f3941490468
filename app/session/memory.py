"""What was computed from a result once, kept for the script runs until the result is another."""

from collections.abc import Callable, Hashable
from typing import TypeVar

from .session import Session

ValueT = TypeVar("ValueT")


def remembered(session: Session, what: str, of: object, compute: Callable[[], ValueT], also: Hashable = None) -> ValueT:
    """
    Returns what `compute` gave for this very object `of`; computes it where that is another than the last time.

    `also`: what the value depends on beside it, by equality.
    """
    key = f"remembered.{what}"
    known = session.choices.get(key)
    if known is None or known[0] is not of or known[1] != also:
        known = session.choices[key] = (of, also, compute())
    value: ValueT = known[2]
    return value
