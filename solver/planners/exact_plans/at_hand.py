"""
What there is without a solver, in a moment: a bound on the cost, and GPUs that serve everything.

It is for a search that ends before it has a plan: loading the solvers alone takes longer than a short time limit.
Prices come first (exact/dual/prices_at_hand.py), and their bound holds for every plan. Then every service is where it
is cheapest at these prices: as a resident under MPS, packed in a moment, or covered by partitions for which GPUs are
cut in a moment (exact/primal/cuts_at_hand.py). All services as residents on one type are tried beside that. Whether the
GPUs hold under all rules of the problem is not known here: whoever takes them verifies them first. Nothing is claimed
of their cost.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf

import numpy as np

from ...allocation.allocated import AllocatedGpu
from ...allocation.assembly import UNKNOWN_BOUND
from ...exact.cost_lattice import cost_lattice
from ...exact.covers.covers import cheapest_covers
from ...exact.covers.demands import Demands
from ...exact.dual.lagrangian_data import demands_of, most_to_pay, supply_of
from ...exact.dual.prices_at_hand import prices_at_hand
from ...exact.dual.supply import Supply, least_rent
from ...exact.fleet.kept_limits import keeps_limits
from ...exact.fleet.spare_covers import covers_with_spares
from ...exact.fleet.whole_or_shared import shared_instead_of_whole
from ...exact.mig.decoding import cut_gpus
from ...exact.mig.patterns import Pattern, patterns_of
from ...exact.mig.spare_rules import SpareRules, spare_rules, worst_case
from ...exact.mps.packed_residents import DEARNESS, packed_on_each, packed_some
from ...exact.primal.cuts_at_hand import cuts_at_hand
from ...exact.primal.spares_at_hand import cuts_with_free
from ...model.plan import Bound
from ...performance.interference.prediction import Floats, Ints
from ...performance.latency_rules.server_sets import is_by_set
from ...performance.resolve import ResolvedProblem
from ..planner import AtHand
from .answers import bound_of, slice_prices

PRICES = (
    "Lagrangian bound at slice prices found without a solver (solver/exact/dual/prices_at_hand.py): no cut of a GPU is "
    "worth more than the GPU, and every workload costs at least its cheapest cover"
)

PRICES_S = 0.15
"""Seconds after which prices stay as good as they are."""

CUTS_S = 0.1
"""Seconds after which no better cuts are looked for, the time included that the first take to be verified."""

CUT = -1
"""Stands for the type under MPS of workloads that partitions serve."""


def at_hand(resolved: ResolvedProblem) -> AtHand:
    """Returns a bound, and how to find GPUs, of problems of least cost."""
    resolved = shared_instead_of_whole(resolved)
    patterns = [pattern for entry in resolved.fleet for pattern in patterns_of(resolved, entry)]
    sizes = np.flatnonzero(resolved.capacity_rps.any(axis=0))
    supply, demands = supply_of(resolved, patterns, sizes), demands_of(resolved, sizes)
    found = prices_at_hand(demands, supply, deadline=time.monotonic() + PRICES_S)
    priced = _Priced(resolved, patterns, sizes, supply, demands, found.price)
    prices = slice_prices(resolved, sizes, found.price, least_rent(supply, found.price))
    return AtHand(_bound(resolved, found.bound), prices, partial(_cheaper_and_cheaper, priced))


def _bound(resolved: ResolvedProblem, bound: float) -> Bound:
    """Returns what prices prove; unknown: the cost of all GPUs is below it, or what partitions carry is no sum."""
    if is_by_set(resolved.problem.settings) or bound > most_to_pay(resolved):
        return UNKNOWN_BOUND.model_copy(update={"method": "none: the search ended before it had one"})
    return bound_of(resolved, cost_lattice(resolved).next_cost(bound), PRICES)


@dataclass(frozen=True, eq=False)
class _Priced:
    """A problem as prices see it, and the prices, shape (size,)."""

    resolved: ResolvedProblem
    patterns: Sequence[Pattern]
    sizes: Ints
    supply: Supply
    demands: Demands
    price: Floats


def _cheaper_and_cheaper(priced: _Priced) -> Iterator[Sequence[AllocatedGpu]]:
    """Yields GPUs that serve everything within all counts, each time cheaper ones."""
    price = {entry.gpu.name: entry.price_per_hour for entry in priced.resolved.fleet}
    least = inf
    for gpus in _found(priced):
        cost = sum(price[gpu.gpu] for gpu in gpus)
        if cost < least and keeps_limits(priced.resolved, gpus):
            least = cost
            yield gpus


def _found(priced: _Priced) -> Iterator[Sequence[AllocatedGpu]]:
    joint = False
    for gpus in _by_prices(priced):
        yield gpus
        joint = True
    if not joint or len(priced.resolved.mps) > 1:
        yield from packed_on_each(priced.resolved)


def _by_prices(priced: _Priced) -> Iterator[Sequence[AllocatedGpu]]:
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
        for cuts in _cuts(priced, rows, Counter(host.gpu for host in hosts)):
            yield [*cuts, *hosts]


def _cheapest_types(priced: _Priced) -> Ints:
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


def _cuts(priced: _Priced, rows: Ints, taken: Counter[str]) -> Iterator[Sequence[AllocatedGpu]]:
    """Yields GPUs that are cut for some workloads, beside some that are taken."""
    resolved, own = priced.resolved, _supply_of_cuts(priced, taken)
    demands = replace(priced.demands.of(rows), shared=None)
    price = priced.price[: len(priced.sizes)]
    for found in cuts_at_hand(demands, own, price, deadline=time.monotonic() + CUTS_S):
        partitions = np.zeros(resolved.capacity_rps.shape, dtype=np.int64)
        partitions[np.ix_(rows, priced.sizes)] = found.partitions
        if (rules := spare_rules(resolved.problem.settings)) is not None:
            yield from _with_spares(priced, own, partitions, rules)
        else:
            yield cut_gpus(resolved, _used(priced, found.times), partitions)


def _with_spares(
    priced: _Priced, supply: Supply, partitions: Ints, rules: SpareRules
) -> Iterator[Sequence[AllocatedGpu]]:
    """Yields GPUs that are cut for partitions, shape (workload, size), and for those that are kept free beside."""
    resolved, sizes = priced.resolved, priced.sizes
    price = np.zeros(len(resolved.sizes))
    price[sizes] = priced.price
    covers = covers_with_spares(resolved, rules, partitions, price)
    if covers is None:
        return
    own, extra = covers
    least_free = worst_case(extra, rules.services)
    wanted = own.sum(axis=0)[sizes]
    found = cuts_with_free(supply, wanted, least_free[sizes], priced.price, gpu_loss=rules.gpu_loss)
    if found is not None:
        times, free = found
        spares = np.zeros(len(resolved.sizes), dtype=np.int64)
        spares[sizes] = free
        yield cut_gpus(resolved, _used(priced, times), own, spares)


def _supply_of_cuts(priced: _Priced, taken: Counter[str]) -> Supply:
    """Returns how the GPUs that are left beside some may be cut."""
    supply, cuts, sizes = priced.supply, len(priced.patterns), len(priced.sizes)
    left = supply.available - [taken[entry.gpu.name] for entry in priced.resolved.fleet]
    return Supply(supply.instances[:cuts, :sizes], supply.gpu_type[:cuts], supply.cost[:cuts], left)


def _used(priced: _Priced, times: Ints) -> list[tuple[Pattern, int]]:
    return [(pattern, number) for pattern, number in zip(priced.patterns, times.tolist(), strict=True) if number]
