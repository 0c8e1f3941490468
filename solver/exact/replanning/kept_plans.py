"""
Plans around what runs that are built and not searched, for when there is little time, and for a search to begin with.

One keeps all that may stay, whatever it costs. The other is a plan made without regard to what runs.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ..covers.demands import NO_LIMIT, Demands
from ..dual.lagrangian_data import demands_of
from ..fleet.spare_covers import cheapest_of_each
from ..mig.patterns import Pattern, patterns_of
from .running import KeptGpu, Replanning, RunningGpu

if TYPE_CHECKING:
    from ..mig.cutting_stock import CuttingStockAnswer

Cuts = Callable[[ResolvedProblem, Sequence[Pattern], Ints], Ints | None]
"""Returns how often each pattern is cut for so many partitions of each size, shape (size,); None: too few GPUs."""

ROUNDING = 1e-9
"""Part of a rate that may be missing by rounding."""


def made_anew(
    running: Sequence[RunningGpu], moved_anyway: frozenset[int], anew: "CuttingStockAnswer"
) -> Replanning | None:
    """Returns a plan made without regard to what runs, which is taken to move every service; None: it is no plan."""
    if anew.patterns is None or anew.partitions is None:
        return None
    partitions = {(w, k): int(anew.partitions[w, k]) for w, k in np.argwhere(anew.partitions).tolist()}
    moved = moved_anyway | {w for gpu in running for w in gpu.workloads}
    return Replanning(StopReason.TIME_LIMIT, anew.solver, None, moved, (), anew.patterns, partitions)


def kept_as_it_runs(
    resolved: ResolvedProblem,
    running: Sequence[RunningGpu],
    moved_anyway: frozenset[int],
    price: Floats,
    cuts: Cuts,
) -> Replanning | None:
    """
    Returns a plan in which all stays that may; what its services lack is on further GPUs.

    None: there are too few of them, or too few replicas are allowed.

    Parameters
    ----------
    price
        Shape (size,): USD per hour of a partition; above 0 where some workload can use the size.
    cuts
        Cuts the further GPUs, of the problem with the fleet that is left.
    """
    sizes = np.flatnonzero(resolved.capacity_rps.any(axis=0))
    carried, replicas = np.zeros(len(resolved.required_rps)), np.zeros(len(resolved.required_rps), dtype=np.int64)
    for one in (partition for gpu in running for partition in gpu.partitions):
        carried[one.workload] += one.capacity_rps
        replicas[one.workload] += 1
    demands = demands_of(resolved, sizes)
    missing = np.maximum(resolved.required_rps - carried, 0.0)
    least = np.maximum(demands.least - replicas, 0)
    most = np.where(demands.most == NO_LIMIT, NO_LIMIT, demands.most - replicas)
    capacity = resolved.capacity_rps[:, sizes]
    rows = np.flatnonzero((missing > ROUNDING * resolved.required_rps) | (least > 0))
    if (capacity[rows].max(axis=1, initial=0.0) * np.minimum(most[rows], 1e9) < missing[rows]).any() or (
        most < 0
    ).any():
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(capacity > 0, np.minimum(capacity / missing[:, None], 1.0), 0.0)[rows]
    partitions = np.zeros(resolved.capacity_rps.shape, dtype=np.int64)
    partitions[np.ix_(rows, sizes)] = cheapest_of_each(Demands(part, least[rows], most[rows]), price[sizes])
    there = Counter(gpu.gpu for gpu in running)
    if any(entry.available is not None and there[entry.gpu.name] > entry.available for entry in resolved.fleet):
        return None
    rest = tuple(
        entry if entry.available is None else replace(entry, available=entry.available - there[entry.gpu.name])
        for entry in resolved.fleet
    )
    patterns = [pattern for entry in resolved.fleet for pattern in patterns_of(resolved, entry)]
    times = cuts(replace(resolved, fleet=rest), patterns, partitions.sum(axis=0))
    if times is None:
        return None
    kept = tuple(KeptGpu(i, gpu.partitions, ()) for i, gpu in enumerate(running))
    used = tuple((pattern, int(number)) for pattern, number in zip(patterns, times, strict=True) if number)
    new = {(w, k): int(partitions[w, k]) for w, k in np.argwhere(partitions).tolist()}
    return Replanning(StopReason.TIME_LIMIT, "all stays that may", None, moved_anyway, kept, used, new)


def total_per_hour(
    resolved: ResolvedProblem, running: Sequence[RunningGpu], plan: Replanning, move_price: float
) -> float:
    """Returns what a plan costs, USD per hour, its moved services at their price."""
    used = Counter(running[one.number].gpu for one in plan.kept or ())
    for pattern, times in plan.patterns or ():
        used[pattern.gpu] += times
    cost = sum(resolved.fleet_by_name[gpu].price_per_hour * times for gpu, times in used.items())
    return cost + move_price * len(plan.moved)
