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
from ...exact.covers.covers import cheapest_covers
from ...exact.covers.demands import Demands
from ...exact.dual.lagrangian_data import demands_of, supply_of
from ...exact.dual.prices_at_hand import prices_at_hand
from ...exact.dual.supply import Supply
from ...exact.fleet.whole_or_shared import shared_instead_of_whole
from ...exact.mig.patterns import Pattern, patterns_of
from ...exact.mps.packed_residents import DEARNESS, packed_on_each, packed_some
from ...exact.primal.cuts_at_hand import cuts_at_hand
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem

PRICES_S = 0.15
"""Seconds after which prices stay as good as they are."""

CUTS_S = 0.1
"""Seconds after which no better cuts are looked for, the time included that the first take to be verified."""

CUT = -1
"""Stands for the type under MPS of workloads that partitions serve."""


@dataclass(frozen=True, eq=False)
class Priced:
    """A problem as prices see it, and the prices, shape (size,)."""

    resolved: ResolvedProblem
    patterns: Sequence[Pattern]
    sizes: Ints
    supply: Supply
    demands: Demands
    price: Floats
    bound: float
    """Lower bound on the cost of any plan, USD per hour, that the prices prove."""

    def used(self, times: Ints) -> list[tuple[Pattern, int]]:
        """Returns the patterns that are cut, and how often; `times`: shape (pattern,)."""
        return [(pattern, number) for pattern, number in zip(self.patterns, times.tolist(), strict=True) if number]


Complete = Callable[[Priced, Supply, Ints, Ints], Sequence[AllocatedGpu] | None]
"""
Makes GPUs of partitions, shape (workload, size of the problem), and how often each way of a supply is cut.

None: it cannot.
"""


def priced_at_hand(resolved: ResolvedProblem) -> Priced:
    """Returns a problem with prices; every workload must have a cover."""
    resolved = shared_instead_of_whole(resolved)
    patterns = [pattern for entry in resolved.fleet for pattern in patterns_of(resolved, entry)]
    sizes = np.flatnonzero(resolved.capacity_rps.any(axis=0))
    supply, demands = supply_of(resolved, patterns, sizes), demands_of(resolved, sizes)
    found = prices_at_hand(demands, supply, deadline=time.monotonic() + PRICES_S)
    return Priced(resolved, patterns, sizes, supply, demands, found.price, found.bound)


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
    on_type = _cheapest_types(priced)
    hosts: list[AllocatedGpu] = []
    for g, gpu in enumerate(priced.resolved.mps):
        rows = np.flatnonzero(on_type == g)
        packed = packed_some(priced.resolved, rows, gpu) if rows.size else []
        if packed is None:
            return
        hosts += packed
    rows = np.flatnonzero(on_type == CUT)
    if not rows.size:
        yield hosts
    elif priced.demands.of(rows).can_be_covered().all():
        for cuts in _cuts(priced, complete, rows, Counter(host.gpu for host in hosts)):
            yield [*cuts, *hosts]


def _cheapest_types(priced: Priced) -> Ints:
    """Returns the type under MPS on which each workload is cheapest, shape (workload,); CUT: partitions are cheaper."""
    shared = priced.demands.shared
    on_type = np.full(len(priced.demands.least), CUT)
    if shared is None:
        return on_type
    of_size, of_shared = np.split(priced.price, [len(priced.sizes)])
    own = replace(priced.demands, shared=None)
    rows = np.flatnonzero(own.can_be_covered())
    by_partitions = np.full(len(on_type), np.inf)
    by_partitions[rows] = cheapest_covers(own.of(rows), of_size).floor
    by_shares = np.where(np.isfinite(shared.gpus), shared.gpus * of_shared * DEARNESS, np.inf)
    return np.where(by_partitions <= by_shares.min(axis=1), CUT, by_shares.argmin(axis=1))


def _cuts(priced: Priced, complete: Complete, rows: Ints, taken: Counter[str]) -> Iterator[Sequence[AllocatedGpu]]:
    """Yields GPUs that are cut for some workloads, beside some that are taken."""
    supply = _supply_of_cuts(priced, taken)
    demands = replace(priced.demands.of(rows), shared=None)
    price = priced.price[: len(priced.sizes)]
    for found in cuts_at_hand(demands, supply, price, deadline=time.monotonic() + CUTS_S):
        partitions = np.zeros(priced.resolved.capacity_rps.shape, dtype=np.int64)
        partitions[np.ix_(rows, priced.sizes)] = found.partitions
        if (gpus := complete(priced, supply, partitions, found.times)) is not None:
            yield gpus


def _supply_of_cuts(priced: Priced, taken: Counter[str]) -> Supply:
    """Returns how the GPUs that are left beside some may be cut."""
    supply, cuts, sizes = priced.supply, len(priced.patterns), len(priced.sizes)
    left = supply.available - [taken[entry.gpu.name] for entry in priced.resolved.fleet]
    return Supply(supply.instances[:cuts, :sizes], supply.gpu_type[:cuts], supply.cost[:cuts], left)
