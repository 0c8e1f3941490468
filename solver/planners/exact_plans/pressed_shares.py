"""
Shares under MPS whose services slow each other by gpu-lets' linear model, told apart by what they exert and bear.

By that model (performance/interference/solo_tables.py) a batch beside others takes 1 + max(0, own + z) times as long,
where z is the greatest pressure of any one of them, other_l2 l2 + other_dram dram. So a share that exerts a pressure of
c1 at most, beside shares that exert c2 <= c1 at most, bears c2, and each of them bears c1: a GPU's pressures are told
by which share exerts most, and by two levels. Services on a share that bears z are taken to be slowed by all of z, and
have no batch that exerts more than the share may. Pressures between levels count as the next higher one, so that plans
hold; that some are missed is no matter for a bound, which takes services as if alone, and no neighbour ever helps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from ...model.interference import NeighbourModel
from ...performance.interference.solo_tables import SoloPoint, SoloTable
from ...performance.resolve import ResolvedProblem
from .slowed_shares import is_slowed_by_igniter

LEVELS = 4
"""Pressures that are told apart, besides none at all."""


@dataclass(frozen=True)
class Pressed:
    """A share of a GPU, and how it and its neighbours press each other."""

    percent: float
    exerts: float = inf
    """Pressure that no service on it exceeds; -inf: none of which anything is known."""
    bears: float = -inf
    """Pressure that no neighbour exceeds."""


def slowing_models(resolved: ResolvedProblem) -> list[NeighbourModel]:
    """Returns gpu-lets' models by which services slow each other; empty: nobody is slowed."""
    shared = {entry.gpu.name for entry in resolved.fleet if "mps" in entry.sharing}
    shared -= {entry.gpu.name for entry in resolved.fleet if is_slowed_by_igniter(resolved, entry)}
    known = [table.neighbours for (_, gpu), table in resolved.tables.items() if gpu in shared]
    return list({one.model_dump_json(): one for one in known if one is not None}.values())


def pressure(model: NeighbourModel, point: SoloPoint) -> float:
    """Returns by how much a batch slows its neighbours; -inf where its utilisations are not known: not at all."""
    if point.l2_percent is None or point.dram_percent is None:
        return -inf
    return model.other_l2 * point.l2_percent + model.other_dram * point.dram_percent


def greatest_pressure(models: Sequence[NeighbourModel], point: SoloPoint) -> float:
    """Returns the greatest pressure by any of several models."""
    return max((pressure(model, point) for model in models), default=-inf)


def slowed_ms(model: NeighbourModel | None, point: SoloPoint, bears: float) -> float:
    """Returns how long a batch takes beside neighbours of which none exerts more."""
    if model is None or point.l2_percent is None or point.dram_percent is None or bears == -inf:
        return point.latency_ms
    own = model.own_l2 * point.l2_percent + model.own_dram * point.dram_percent + model.constant
    return point.latency_ms * (1 + max(0.0, own + bears))


def levels_of(tables: Sequence[SoloTable], models: Sequence[NeighbourModel]) -> tuple[float, ...]:
    """Returns pressures that are told apart, ascending: none, and some that batches exert, the greatest too."""
    points = (table.at(batch, share) for table in tables for batch, share, _ in table.points())
    values = sorted({greatest_pressure(models, point) for point in points if point is not None} - {-inf})
    if not values:
        return (-inf,)
    at = np.linspace(0, len(values) - 1, LEVELS + 1).round().astype(int)[1:]
    return (-inf, *sorted({values[i] for i in at.tolist()}))


def pressed_divisions(division: Sequence[float], levels: Sequence[float]) -> Iterator[tuple[Pressed, ...]]:
    """Yields the pressures that the shares of a GPU may have beside each other."""
    if len(division) == 1:
        yield (Pressed(division[0]),)
        return
    for i, most in enumerate(levels):
        yield tuple(Pressed(share, most, most) for share in division)
        for others in levels[:i]:
            for top in dict.fromkeys(division):
                place = division.index(top)
                yield tuple(
                    Pressed(share, most, others) if k == place else Pressed(share, others, most)
                    for k, share in enumerate(division)
                )
