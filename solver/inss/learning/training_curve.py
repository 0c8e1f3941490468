"""How an actor learned, as its file tells: the evaluations of its training beside the exact plans on the same rates."""

from dataclasses import dataclass
from pathlib import Path

from ...model.errors import Finding, InputError
from .actor_file import ACTOR, evaluated_of, refuse_another_kind
from .arrays_file import read_arrays
from .training import Evaluated

MOST_BYTES = 64 << 20
"""Of a file, and of what is in it; the shipped one has 0.7 MB."""


@dataclass(frozen=True)
class TrainingCurve:
    """The evaluations of a training, in its order."""

    problem: str
    """The name of what it was trained for."""
    seed: int
    episodes: int
    points: tuple[Evaluated, ...]
    exact: Evaluated | None
    """What the exact plans of every ten seconds come to on the same rates; None: it was not found."""


def read_training_curve(path: Path, source: str | None = None) -> TrainingCurve:
    """
    Returns the curve in an actor's file; its network is not looked at, so any problem's may be shown.

    Parameters
    ----------
    source
        What messages call the file; None: its path.

    Raises
    ------
    InputError
        If the file is missing or damaged, or no actor.
    """
    named = source or str(path)
    record, _ = read_arrays(path, ACTOR, source=named, most_bytes=MOST_BYTES)
    refuse_another_kind(named, record)
    try:
        return TrainingCurve(
            problem=str(record["problem"]),
            seed=int(record["seed"]),
            episodes=int(record["episodes"]),
            points=tuple(evaluated_of(one) for one in record["curve"]),
            exact=None if record["exact"] is None else evaluated_of(record["exact"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError([Finding(named, "", f"is damaged: its {error} is not what an actor has")]) from error
