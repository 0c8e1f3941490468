"""
Files of trained actors: the numbers of one network, and what it was trained for.

An actor is good for the models, GPUs, limits and latencies that it was trained with and for no other: its outputs have
their number, and what it learned is theirs. So a file states them with a digest, and any other problem is refused. The
rates are no part of it; those an actor sees.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from ...model.errors import Finding, InputError
from ...model.inss_problem import InssProblem
from .arrays_file import read_arrays, write_arrays
from .environment import Setting
from .heads import Heads
from .network import Network
from .training import Evaluated, Training, heads_of

KIND = "sliceplan inss actor"

ACTOR = "an actor of `sliceplan train-inss`"
"""What a file should be, for messages."""

MOST_HIDDEN = 4096


@dataclass(frozen=True, eq=False)
class Actor:
    """A trained scheduler."""

    network: Network
    heads: Heads
    seed: int
    episodes: int
    curve: tuple[Evaluated, ...]
    exact: Evaluated | None
    """What the exact plans of every ten seconds come to on the same rates."""


def facts_of(problem: InssProblem) -> dict[str, Any]:
    """Returns what an actor is trained for, in words that a person can compare."""
    return {
        "models": [one.model for one in problem.models],
        "slo_ms": [one.slo_ms for one in problem.models],
        "gpus": [{"type": one.type, "count": one.count, "units": one.units} for one in problem.gpus],
    }


def digest_of(problem: InssProblem) -> str:
    """Returns the SHA-256 of all that an actor depends on: models, GPUs, limits, latencies; rates left out."""
    data = problem.model_dump(mode="json", exclude={"name", "provenance"})
    for one in data["models"]:
        del one["rate_rps"], one["walk"]
    return hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def refuse_another(source: str, name: str, digest: str, problem: InssProblem, facts: Any = None) -> None:
    """Raises InputError if something was trained for another problem, and says what differs."""
    if digest == digest_of(problem):
        return
    own = facts_of(problem)
    known = facts if isinstance(facts, dict) else {}
    parts = [
        f"{key.replace('_ms', '')}: {_shown(known[key])} there, {_shown(own[key])} here"
        for key in own
        if key in known and known[key] != own[key]
    ]
    differs = "; ".join(parts) or "running times, memory or interference differ"
    message = f"was trained for {name!r}, which is another problem than {problem.name!r} ({differs}); train one for it"
    raise InputError([Finding(source, "", message)])


def _shown(values: Any) -> str:
    if not isinstance(values, list):
        return "?"
    return ", ".join(
        f"{one.get('count')} x {one.get('type')} of {one.get('units')} units" if isinstance(one, dict) else str(one)
        for one in values
    )


def refuse_another_kind(source: str, record: dict[str, Any]) -> None:
    """Raises InputError if a file's record is not that of an actor."""
    if record.get("kind") != KIND or record.get("version") != 1:
        message = f"is {record.get('kind')!r}, version {record.get('version')!r}; expected {KIND!r}, version 1"
        raise InputError([Finding(source, "", message)])


def write_actor(path: Path, training: Training, setting: Setting, exact: Evaluated | None) -> None:
    """Writes the best actor of a training."""
    problem = setting.latencies.problem
    record = {
        "kind": KIND,
        "version": 1,
        "problem": problem.name,
        "digest": digest_of(problem),
        **facts_of(problem),
        "sizes": list(training.agent.actor.sizes),
        "learning": asdict(training.agent.learning),
        "seed": training.seed,
        "episodes": training.episode,
        "curve": [asdict(one) for one in training.curve],
        "exact": None if exact is None else asdict(exact),
    }
    write_arrays(path, record, {"actor": training.best_actor.numbers})


def read_actor(path: Path, setting: Setting) -> Actor:
    """
    Returns the actor of a file.

    Raises
    ------
    InputError
        If the file is missing or damaged, or the actor was trained for another problem.
    """
    record, arrays = read_arrays(path, ACTOR)
    refuse_another_kind(str(path), record)
    refuse_another(str(path), str(record.get("problem")), str(record.get("digest")), setting.latencies.problem, record)
    heads = heads_of(setting)
    try:
        sizes = tuple(int(one) for one in record["sizes"])
        if len(sizes) < 2 or (sizes[0], sizes[-1]) != (setting.state_size, heads.size):
            raise ValueError("sizes")
        if max(sizes[1:-1], default=0) > MOST_HIDDEN or min(sizes) < 1:
            raise ValueError("sizes")
        numbers = arrays["actor"]
        expected = sum((before + 1) * after for before, after in pairwise(sizes))
        if numbers.shape != (expected,) or numbers.dtype != np.float32 or not np.isfinite(numbers).all():
            raise ValueError("actor")
        curve = tuple(evaluated_of(one) for one in record["curve"])
        exact = None if record["exact"] is None else evaluated_of(record["exact"])
        return Actor(Network(sizes, numbers), heads, int(record["seed"]), int(record["episodes"]), curve, exact)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        message = f"is damaged: its {error} is not what an actor of this problem has; train it again"
        raise InputError([Finding(str(path), "", message)]) from error


def evaluated_of(data: Any) -> Evaluated:
    """Returns an evaluation from a file's record; ValueError or TypeError if it is none."""
    found = Evaluated(**data)
    numbers: Sequence[Any] = [found.episode, found.reward, found.late_share, found.normalised, found.capacity_rps]
    if not all(isinstance(one, int | float) and isfinite(one) for one in numbers):
        raise ValueError("curve")
    return found
