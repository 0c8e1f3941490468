"""What was computed from a result once, kept for the script runs until the result is another."""

from collections.abc import Callable
from typing import TypeVar

from .session import Session

ValueT = TypeVar("ValueT")


def remembered(session: Session, what: str, of: object, compute: Callable[[], ValueT]) -> ValueT:
    """Returns what `compute` gave for this very object `of`; computes it where it is another than the last time."""
    key = f"remembered.{what}"
    known = session.choices.get(key)
    if known is None or known[0] is not of:
        known = session.choices[key] = (of, compute())
    value: ValueT = known[1]
    return value
