"""
A first plan of a fleet with GPUs under MPS, within a moment: every workload where it is cheapest at the slice prices.

Those that are cheaper as residents are packed on the GPU type where they cost least (packed_residents.py). Each other
one has its cheapest cover by partitions, and a program of a few rows finds the cuts for these on the GPUs that are left
(spare_plans.py). If that breaks a count or a limit on replicas, all of them on GPUs of one type are tried.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...allocation.allocated import AllocatedGpu
from ...performance.interference.prediction import Ints
from ...performance.resolve import ResolvedProblem
from ..mig.decoding import cut_gpus
from ..mps.packed_residents import DEARNESS, packed_on_each
from ..primal.cheapest_ways import CUT, cheapest_types, hosts_of
from .fleet_answer import price_of
from .fleet_by_prices import FleetPrices, cheapest_covers_of
from .kept_limits import keeps_limits
from .spare_plans import cheapest_cuts


def first_fleet(resolved: ResolvedProblem, prices: FleetPrices, *, deadline: float) -> list[AllocatedGpu] | None:
    """Returns GPUs that serve all workloads and keep every limit; None: none were found so quickly."""
    joint = _by_costs(resolved, prices, deadline)
    if joint is not None and len(resolved.mps) == 1:
        return joint
    found: list[Sequence[AllocatedGpu]] = [gpus for gpus in packed_on_each(resolved) if keeps_limits(resolved, gpus)]
    found += [joint] if joint is not None else []
    best = min(found, key=lambda gpus: price_of(resolved, gpus), default=None)
    return None if best is None else list(best)


def beyond_counts(resolved: ResolvedProblem, prices: FleetPrices, *, deadline: float) -> list[AllocatedGpu] | None:
    """Returns what `first_fleet` does where there are as many GPUs of each type as are wanted."""
    fleet = tuple(replace(entry, available=None) for entry in resolved.fleet)
    return first_fleet(replace(resolved, fleet=fleet), prices, deadline=deadline)


def _by_costs(resolved: ResolvedProblem, prices: FleetPrices, deadline: float) -> list[AllocatedGpu] | None:
    on_type = cheapest_types(prices.data.demands, prices.priced.price, np.full(len(resolved.mps), DEARNESS))
    hosts = hosts_of(resolved, on_type)
    cut = np.flatnonzero(on_type == CUT)
    if hosts is None or not prices.data.demands.of(cut).can_be_covered().all():
        return None
    cuts = _cut(resolved, prices, cut, Counter(host.gpu for host in hosts), deadline) if cut.size else []
    gpus = None if cuts is None else [*cuts, *hosts]
    return gpus if gpus is not None and keeps_limits(resolved, gpus) else None


def _cut(
    resolved: ResolvedProblem, prices: FleetPrices, rows: Ints, taken: Counter[str], deadline: float
) -> Sequence[AllocatedGpu] | None:
    """Returns GPUs that are cut for some workloads, beside GPUs that are taken; None: too few are left, or no time."""
    left = tuple(
        replace(entry, available=max(entry.available - taken[entry.gpu.name], 0))
        if entry.available is not None
        else entry
        for entry in resolved.fleet
    )
    partitions = np.zeros(resolved.capacity_rps.shape, dtype=np.int64)
    partitions[np.ix_(rows, prices.data.sizes)] = cheapest_covers_of(prices, rows)
    found = cheapest_cuts(
        replace(resolved, fleet=left),
        prices.data.patterns,
        partitions.sum(axis=0),
        np.zeros(len(resolved.sizes), dtype=np.int64),
        time_limit_s=deadline - time.monotonic(),
    )
    if found is None:
        return None
    used = [(pattern, int(times)) for pattern, times in zip(prices.data.patterns, found[0], strict=True) if times]
    return cut_gpus(resolved, used, partitions)
