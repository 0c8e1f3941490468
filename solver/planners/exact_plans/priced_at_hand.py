"""
GPUs for every service where it is cheapest, at slice prices that come in a moment and without a solver.

Prices come first (exact/dual/prices_at_hand.py). At them a service is cheapest as a resident under MPS, packed in a
moment (exact/mps/packed_residents.py), or covered by partitions for which GPUs are cut in a moment
(exact/primal/cuts_at_hand.py). What becomes of cuts and partitions is the caller's.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...allocation.allocated import AllocatedGpu
from ...exact.dual.lagrangian_data import LagrangianData, lagrangian_data
from ...exact.dual.prices_at_hand import prices_at_hand
from ...exact.dual.supply import Supply
from ...exact.fleet.whole_or_shared import shared_instead_of_whole
from ...exact.mig.patterns import Pattern
from ...exact.mps.packed_residents import DEARNESS, packed_on_each
from ...exact.primal.cheapest_ways import CUT, cheapest_types, hosts_of
from ...exact.primal.cuts_at_hand import cuts_at_hand
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem

PRICES_S = 0.15
"""Seconds after which prices stay as good as they are."""

CUTS_S = 0.1
"""Seconds after which no better cuts are looked for, the time included that the first take to be verified."""


@dataclass(frozen=True, eq=False)
class Priced:
    """A problem as prices see it, and the prices, shape (size,)."""

    resolved: ResolvedProblem
    data: LagrangianData
    price: Floats
    bound: float
    """Lower bound on the cost of any plan, USD per hour, that the prices prove."""

    def used(self, times: Ints) -> list[tuple[Pattern, int]]:
        """Returns the patterns that are cut, and how often; `times`: shape (pattern,)."""
        return [(pattern, number) for pattern, number in zip(self.data.patterns, times.tolist(), strict=True) if number]


Complete = Callable[[Priced, Supply, Ints, Ints], Sequence[AllocatedGpu] | None]
"""
Makes GPUs of partitions, shape (workload, size of the problem), and how often each way of a supply is cut.

None: it cannot.
"""


def priced_at_hand(resolved: ResolvedProblem) -> Priced:
    """Returns a problem with prices; every workload must have a cover."""
    resolved = shared_instead_of_whole(resolved)
    data = lagrangian_data(resolved)
    found = prices_at_hand(data.demands, data.supply, deadline=time.monotonic() + PRICES_S)
    return Priced(resolved, data, found.price, found.bound)


def gpus_at_hand(priced: Priced, complete: Complete) -> Iterator[Sequence[AllocatedGpu]]:
    """Yields GPUs that serve everything, counts and limits on replicas apart; all under MPS on one type last."""
    joint = False
    for gpus in _by_prices(priced, complete):
        yield gpus
        joint = True
    if not joint or len(priced.resolved.mps) > 1:
        yield from packed_on_each(priced.resolved)


def _by_prices(priced: Priced, complete: Complete) -> Iterator[Sequence[AllocatedGpu]]:
    """Yields GPUs with every service where it is cheapest; none: some are nowhere, or there are too few GPUs."""
    resolved, demands = priced.resolved, priced.data.demands
    on_type = cheapest_types(demands, priced.price, np.full(len(resolved.mps), DEARNESS))
    hosts = hosts_of(resolved, on_type)
    rows = np.flatnonzero(on_type == CUT)
    if hosts is None:
        return
    if not rows.size:
        yield hosts
    elif demands.of(rows).can_be_covered().all():
        for cuts in _cuts(priced, complete, rows, Counter(host.gpu for host in hosts)):
            yield [*cuts, *hosts]


def _cuts(priced: Priced, complete: Complete, rows: Ints, taken: Counter[str]) -> Iterator[Sequence[AllocatedGpu]]:
    """Yields GPUs that are cut for some workloads, beside some that are taken."""
    supply = _supply_of_cuts(priced, taken)
    demands = replace(priced.data.demands.of(rows), shared=None)
    price = priced.price[: len(priced.data.sizes)]
    for found in cuts_at_hand(demands, supply, price, deadline=time.monotonic() + CUTS_S):
        partitions = np.zeros(priced.resolved.capacity_rps.shape, dtype=np.int64)
        partitions[np.ix_(rows, priced.data.sizes)] = found.partitions
        if (gpus := complete(priced, supply, partitions, found.times)) is not None:
            yield gpus


def _supply_of_cuts(priced: Priced, taken: Counter[str]) -> Supply:
    """Returns how the GPUs that are left beside some may be cut."""
    supply, cuts, sizes = priced.data.supply, len(priced.data.patterns), len(priced.data.sizes)
    left = supply.available - [taken[entry.gpu.name] for entry in priced.resolved.fleet]
    return Supply(supply.instances[:cuts, :sizes], supply.gpu_type[:cuts], supply.cost[:cuts], left)
