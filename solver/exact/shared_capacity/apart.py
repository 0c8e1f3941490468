"""
Plans in which some services carry much on GPUs of their own, and all others stand where they cost least.

A plan of least cost leaves GPUs. These take the contents that carry most of services that may be there; whoever stands
there with all of its rate leaves its place among the others. The others are planned anew at least cost on the GPUs that
are left, and may leave another GPU, until they leave none.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...allocation.allocated import AllocatedGpu, renumbered
from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from .asked_rows import AskedRows
from .gpu_contents import Content, Counted, GpuContents
from .of_fleet import content_of
from .prices import MasterPrices

CELLS = 20
"""Of a question for the content that carries most."""

SAVED = 0.1
"""Part of what its service is worth elsewhere that counts for a content, so that of many alike the dearest leaves."""

SHORT, LONG = 0.1, 0.9
"""
Part of the time that is left for one plan of the others: at first short, as mostly more may leave; long when with short
ones nobody does.
"""

Cheap = Callable[[ResolvedProblem, float], Sequence[AllocatedGpu] | None]
"""Plans a problem at about least cost, in a part of the time that is left; None: no plan was found."""


def set_apart(
    resolved: ResolvedProblem,
    fleet: Sequence[GpuContents],
    weights: Floats,
    prices: MasterPrices,
    plan: Sequence[Content],
    cheap: Cheap,
    *,
    deadline: float,
) -> list[Content]:
    """
    Returns a plan that uses the GPUs that a plan leaves; what carries much stands apart from the others.

    Parameters
    ----------
    prices
        At which it is told what services are worth elsewhere.
    plan
        Serves every rate.
    """
    counts = {entry.gpu.name: entry.available or 0 for entry in resolved.fleet}
    apart: list[Content] = []
    others = list(plan)
    asked = AskedRows.of(resolved)
    part = SHORT
    while time.monotonic() < deadline:
        left = Counter(counts)
        left.subtract(one.gpu.gpu for one in (*others, *apart))
        there = len(apart)
        for gpu in sorted(left):
            for _ in range(left[gpu]):
                own = [one for one in fleet if one.gpu == gpu]
                best = _carries_most(resolved, own, weights, prices, apart, deadline)
                if best is None or time.monotonic() >= deadline:
                    break
                apart.append(best)
        if len(apart) == there:
            if part == LONG:
                break
            part = LONG
        gone = asked.served_whole(apart)
        others = [rest for one in others if (rest := _without(fleet, one, gone)) is not None]
        if not gone.all():
            others = _fewer(resolved, fleet, gone, others, apart, cheap, part)
    return [*others, *apart]


def _carries_most(
    resolved: ResolvedProblem,
    of_type: Sequence[GpuContents],
    weights: Floats,
    prices: MasterPrices,
    apart: Sequence[Content],
    deadline: float,
) -> Content | None:
    """
    Returns the content of a GPU type that carries most of services that may be there.

    Those with one replica may not be there twice, and those of whom a number of replicas is allowed not at all.
    """
    workloads, n = resolved.problem.workloads, len(weights)
    there = sum((one.replicas(n) for one in apart), np.zeros(n))
    once = np.array([one.max_replicas == 1 for one in workloads])
    barred = np.array([one.max_replicas is not None for one in workloads]) & ~(once & (there == 0))
    elsewhere = SAVED * (prices.of_less + prices.of_rate * resolved.required_rps)
    charge = np.where(barred, np.inf, np.where(there == 0, -elsewhere, 0.0))
    found = [
        one
        for own in of_type
        for one in own.limit(weights, charge, gap=1.0, cells=CELLS, deadline=deadline).contents[:1]
    ]
    counted = Counted(weights, resolved.required_rps)
    return max(found, key=lambda one: one.worth(counted, weights, charge), default=None)


def _without(fleet: Sequence[GpuContents], content: Content, gone: np.ndarray) -> Content | None:
    """Returns a content without those who are gone; None: nobody is left."""
    if not gone[list(content.gpu.workloads)].any():
        return content
    return next(own for own in fleet if own.has(content)).without(content, gone)


def _fewer(
    resolved: ResolvedProblem,
    fleet: Sequence[GpuContents],
    gone: np.ndarray,
    others: list[Content],
    apart: Sequence[Content],
    cheap: Cheap,
    part: float,
) -> list[Content]:
    """Returns contents for those who are not gone on fewer GPUs than others have, or those others."""
    stay = np.flatnonzero(~gone).tolist()
    used = Counter(one.gpu.gpu for one in apart)
    left = tuple(replace(entry, available=(entry.available or 0) - used[entry.gpu.name]) for entry in resolved.fleet)
    found = cheap(replace(resolved.restricted_to(stay), fleet=left), part)
    if found is None or len(found) >= len(others):
        return others
    better = []
    for gpu in found:
        own = renumbered(gpu, stay)
        content = content_of(fleet, own)
        if content is None or len(content.gpu.workloads) < len(own.workloads):
            return others
        better.append(content)
    return better
