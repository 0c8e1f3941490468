"""
Covers of plans that keep partitions free: what each service has, and what it takes if it needs more; needs no solver.

Every service keeps the cover that it has in a plan without free partitions. What it takes if it needs more rate is a
cover of what is missing then, of the size that all can share best. Where its replicas leave no room for that, it has
its cheapest cover of the greater rate, of which as much as the rate of today can spare is what is kept free.
"""

from dataclasses import replace

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ..covers.covers import cheapest_covers
from ..covers.demands import NO_LIMIT, Demands
from ..dual.lagrangian_data import demands_of
from ..mig.spare_rules import SpareRules, worst_case

ENOUGH = 1e-9
"""Part of a rate that may be missing by rounding."""


def cheapest_partitions(resolved: ResolvedProblem, price: Floats) -> Ints:
    """Returns a cheapest cover of each workload at these prices, shape (workload, size)."""
    sizes = np.flatnonzero(resolved.capacity_rps.any(axis=0))
    partitions = np.zeros(resolved.capacity_rps.shape, dtype=np.int64)
    partitions[:, sizes] = cheapest_of_each(demands_of(replace(resolved, mps={}), sizes), price[sizes])
    return partitions


def covers_with_spares(
    resolved: ResolvedProblem, rules: SpareRules, partitions: Ints, price: Floats
) -> tuple[Ints, Ints] | None:
    """
    Returns n and e, both of shape (workload, size); None: some service may have too few replicas for more rate.

    Parameters
    ----------
    partitions
        Shape (workload, size): covers without free partitions.
    price
        Shape (size,): USD per hour of a partition; above 0 where some workload can use the size.
    """
    own = partitions.copy()
    extra = _extra_partitions(resolved, rules, own, price) if rules.services else np.zeros_like(own)
    return None if extra is None else (own, extra)


def _extra_partitions(resolved: ResolvedProblem, rules: SpareRules, own: Ints, price: Floats) -> Ints | None:
    """Returns e, shape (workload, size); takes from `own` what it may not have beside. None: replicas are too few."""
    sizes = np.flatnonzero(resolved.capacity_rps.any(axis=0))
    demands = demands_of(resolved, sizes)
    part = resolved.capacity_rps[:, sizes] / resolved.required_rps[:, None]
    carried = (own[:, sizes] * part).sum(axis=1)
    extra, without = extra_beside(resolved, rules, carried, own.sum(axis=1), price)
    for w in without.tolist():
        grown = np.minimum(part[[w]] / (1 + rules.rate), 1.0)
        if grown.max() * min(float(demands.most[w]), 1e9) < 1:
            return None
        own[w] = 0
        own[w, sizes] = cheapest_of_each(Demands(grown, demands.least[[w]], demands.most[[w]]), price[sizes])[0]
        extra[w] = _spared(resolved, w, own[w], price)
    return extra


def extra_beside(
    resolved: ResolvedProblem, rules: SpareRules, carried: Floats, replicas: Ints, price: Floats
) -> tuple[Ints, Ints]:
    """
    Returns what each service takes beside what it has, and the services whose replicas leave no room for enough.

    The first has shape (workload, size), 0 for the second.

    Parameters
    ----------
    carried
        Shape (workload,): what its own partitions carry, as a part of its rate.
    replicas
        Shape (workload,): how many they are.
    price
        Shape (size,): USD per hour of a partition; above 0 where some workload can use the size.
    """
    sizes = np.flatnonzero(resolved.capacity_rps.any(axis=0))
    demands = demands_of(resolved, sizes)
    part = resolved.capacity_rps[:, sizes] / resolved.required_rps[:, None]
    missing = 1 + rules.rate - carried
    room = np.where(demands.most == NO_LIMIT, NO_LIMIT, demands.most - replicas)
    short = missing > ENOUGH
    fits = short & (part.max(axis=1, initial=0.0) * np.minimum(room, 1e9) >= missing)
    beside = np.flatnonzero(fits)
    wanted = Demands(np.minimum(part[beside] / missing[beside, None], 1.0), np.zeros_like(beside), room[beside])
    extra = np.zeros(resolved.capacity_rps.shape, dtype=np.int64)
    extra[np.ix_(beside, sizes)] = _least_worst(wanted, price[sizes], rules.services)
    return extra, np.flatnonzero(short & ~fits)


def _least_worst(demands: Demands, price: Floats, services: int) -> Ints:
    """
    Returns a cover of each workload, shape (workload, size), so that any `services` of them together are cheap.

    If all take the same size, few partitions serve whoever comes; so each size alone is tried for those that it can
    serve, beside everyone's cheapest cover.
    """
    cheapest = cheapest_of_each(demands, price)
    tried = [cheapest]
    for k in range(len(price)):
        with np.errstate(divide="ignore"):
            needed = np.ceil(1 / demands.part[:, k] - ENOUGH)
        alone = cheapest.copy()
        can = np.flatnonzero(needed <= np.minimum(demands.most, 1e9))
        alone[can] = 0
        alone[can, k] = needed[can].astype(np.int64)
        tried.append(alone)
    return min(tried, key=lambda covers: float(worst_case(covers, services) @ price))


def cheapest_of_each(demands: Demands, price: Floats) -> Ints:
    """Returns a cheapest cover of each workload, shape (workload, size)."""
    if not len(demands.least):
        return np.zeros(demands.part.shape, dtype=np.int64)
    covers = cheapest_covers(demands, price)
    return covers.counts[covers.first()]


def _spared(resolved: ResolvedProblem, w: int, own: Ints, price: Floats) -> Ints:
    """Takes from a cover what the rate of today does not need, dearest first; returns what was taken."""
    capacity, required = resolved.capacity_rps[w], float(resolved.required_rps[w])
    taken = np.zeros_like(own)
    for k in sorted(np.flatnonzero(own).tolist(), key=lambda k: -price[k]):
        over = float(own @ capacity) - required
        beyond = int(own.sum()) - resolved.problem.workloads[w].min_replicas
        taken[k] = max(min(int(own[k]), int(over / capacity[k] + ENOUGH), beyond), 0)
        own[k] -= taken[k]
    return taken
