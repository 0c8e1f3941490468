"""
Plans of fleets of cut and shared GPUs, each part by a search of its own: prices decide which services are where.

1. A service is where it is cheaper at the slice prices: by partitions, or as a resident, which is `dearness` times as
   dear as the fluid (primal/cheapest_ways.py).
2. Services on GPUs under MPS are a fleet of these alone, and the others one without MPS (decomposition.py), which has
   the GPUs that are left. Each has its own plan, and both are one of all services.
3. Services join GPUs under MPS that have room for them (mps/joined_residents.py). GPUs under MPS are closed where
   partitions serve their residents for less: those first that are worth least, as many as the prices like best. What
   whole GPUs of the other types cost is looked at anew for a few such numbers.
4. Again from 1 with residents that are cheaper, so that there are more of them, from which 3 may close.

What the parts prove says nothing of the whole, where services may be elsewhere. Programs over all of it (fleet_by_
prices.py) choose sets and covers together, but know few sets; searches for one part know all of it.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...allocation.allocated import AllocatedGpu, MpsGpu, renumbered
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ...runtime.progress import listening
from ..cost_lattice import NO_GAP
from ..mig.decoding import cut_gpus
from ..mps.joined_residents import joined
from ..mps.packed_residents import DEARNESS
from ..primal.cheapest_ways import costs_by_way
from ..proof import is_within
from .decomposition import solve_by_prices
from .fleet_answer import price_of
from .fleet_by_prices import FleetPrices
from .kept_limits import keeps_limits

DEARNESSES = (DEARNESS, 1.0)
"""How dear residents are taken to be, by rounds: with what neighbours and room that is left cost, then as alone."""

SHARED_TIME = 0.85
"""Part of a round's time for GPUs under MPS; the rest is for the others, which take a moment."""

CLOSINGS = 8
"""Numbers of closed GPUs for which the rest is planned anew."""

EACH = 0.5
"""Part of the time that is left for these that one of them may take."""

SolveShared = Callable[[ResolvedProblem, float], Sequence[AllocatedGpu] | None]
"""Returns a plan of services that are on GPUs under MPS alone, in so many seconds; None: none was found."""


def plan_by_ways(
    resolved: ResolvedProblem,
    prices: FleetPrices,
    best: Sequence[AllocatedGpu] | None,
    solve_shared: SolveShared,
    on_better: Callable[[list[AllocatedGpu]], None],
    *,
    deadline: float,
) -> list[AllocatedGpu] | None:
    """
    Returns the cheapest plan of all services found; None: none, or no cheaper one than `best`.

    Parameters
    ----------
    best
        A known plan; None: there is none.
    on_better
        Called with each plan that is cheaper than all before.
    deadline
        As time.monotonic() has it.
    """
    cost = np.inf if best is None else price_of(resolved, best)
    found: list[AllocatedGpu] | None = None
    seen: set[bytes] = set()
    for turn, dearness in enumerate(DEARNESSES):
        left_s = (deadline - time.monotonic()) / (len(DEARNESSES) - turn)
        ways = _ways(prices, np.full(len(resolved.mps), dearness))
        if left_s <= 0 or ways.key in seen:
            break
        seen.add(ways.key)
        with listening(lambda _: None):  # what parts cost says nothing of the whole
            shared = _shared(resolved, ways, solve_shared, SHARED_TIME * left_s)
            if shared is None:
                break
            if resolved.problem.settings.mps_rules == "free":
                shared = _joined(resolved, ways, shared)
            plans = _closed(resolved, ways, shared, time.monotonic() + left_s * (1 - SHARED_TIME))
        for plan in plans:
            if keeps_limits(resolved, plan) and price_of(resolved, plan) < cost * (1 - NO_GAP):
                found, cost = plan, price_of(resolved, plan)
                on_better(plan)
        if is_within(resolved.gap, cost, prices.bound):
            break
    return found


@dataclass(frozen=True, eq=False)
class _Ways:
    """Where services are."""

    residents: Ints
    covered: Ints
    by_partitions: Floats
    """What each takes by partitions alone, USD per hour, shape (workload,); inf: they do not serve it."""

    @property
    def key(self) -> bytes:
        return self.residents.tobytes()


def _ways(prices: FleetPrices, dearness: Floats) -> _Ways:
    shares, by_partitions = costs_by_way(prices.data.demands, prices.priced.price, dearness)
    are_residents = shares.min(axis=1) < by_partitions
    return _Ways(np.flatnonzero(are_residents), np.flatnonzero(~are_residents), by_partitions)


def _shared(
    resolved: ResolvedProblem, ways: _Ways, solve_shared: SolveShared, time_limit_s: float
) -> list[AllocatedGpu] | None:
    if not ways.residents.size:
        return []
    part = resolved.restricted_to(ways.residents.tolist())
    gpus = solve_shared(replace(part, capacity_rps=np.zeros_like(part.capacity_rps)), time_limit_s)
    return None if gpus is None else [renumbered(gpu, ways.residents.tolist()) for gpu in gpus]


def _joined(resolved: ResolvedProblem, ways: _Ways, shared: list[AllocatedGpu]) -> list[AllocatedGpu]:
    """Returns the GPUs with services that join them from partitions."""
    others = [gpu for gpu in shared if not isinstance(gpu, MpsGpu)]
    saves = np.zeros(len(resolved.required_rps))
    saves[ways.covered] = ways.by_partitions[ways.covered]
    return [*others, *joined(resolved, [gpu for gpu in shared if isinstance(gpu, MpsGpu)], saves)]


def _closed(
    resolved: ResolvedProblem, ways: _Ways, shared: list[AllocatedGpu], deadline: float
) -> list[list[AllocatedGpu]]:
    """Returns plans with all GPUs under MPS and with some of them closed, likely ones first."""
    replicas = Counter(w for gpu in shared for w in gpu.workloads)

    def moved(gpu: AllocatedGpu) -> float:
        """What partitions for its residents cost more than it; inf: they cannot be without it."""
        elsewhere = sum(float(ways.by_partitions[w]) if replicas[w] == 1 else np.inf for w in gpu.workloads)
        return elsewhere - resolved.fleet_by_name[gpu.gpu].price_per_hour

    # Those come last that are closed first.
    order = sorted(shared, key=moved, reverse=True)
    hoped = np.cumsum([0.0, *(moved(gpu) for gpu in reversed(order))])
    plans: list[list[AllocatedGpu]] = []
    for closed in np.argsort(hoped, kind="stable")[:CLOSINGS].tolist():
        if hoped[closed] == np.inf or (plans and time.monotonic() > deadline):
            break
        kept = order[: len(order) - closed]
        rows = np.setdiff1d(np.arange(len(resolved.required_rps)), [w for gpu in kept for w in gpu.workloads])
        cut = _cut(resolved, rows, Counter(gpu.gpu for gpu in kept), max(EACH * (deadline - time.monotonic()), 0.05))
        plans += [] if cut is None else [[*cut, *kept]]
    return plans


def _cut(resolved: ResolvedProblem, rows: Ints, taken: Counter[str], time_limit_s: float) -> list[AllocatedGpu] | None:
    """Returns GPUs without MPS that serve some workloads beside GPUs that are taken; None: none were found."""
    if not rows.size:
        return []
    left = tuple(
        entry if entry.available is None else replace(entry, available=max(entry.available - taken[entry.gpu.name], 0))
        for entry in resolved.fleet
    )
    part = replace(resolved.restricted_to(rows.tolist()), fleet=left, mps={})
    answer = solve_by_prices(part, time_limit_s=time_limit_s).answer
    if answer.patterns is None or answer.partitions is None:
        return None
    return [renumbered(gpu, rows.tolist()) for gpu in cut_gpus(part, answer.patterns, answer.partitions)]
