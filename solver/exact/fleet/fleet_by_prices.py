"""
Fleets of MIG, whole GPUs and GPUs under MPS, decomposed by prices.

1. lagrangian_dual.py finds the prices of partitions and of GPUs under MPS with the greatest lower bound. There, GPUs
   under MPS are given away in units of shares, of which residents take as few as alone on a GPU (shared_rates.py).
2. Real residents disturb each other and leave parts of GPUs unused, so sets of them cost `dearness` times the fluid.
   Workloads whose cheapest cover by partitions is clearly cheaper than that are covered; where it is clearly dearer,
   they are residents; those between, the closest calls, stay open.
3. Sets of residents that fit a GPU are listed or generated for those who are or may be residents. One integer program
   chooses among sets, and among covers of the others, for all GPU types together (restricted_master.py).
4. Its plan tells how dear residents really are; while there is time, 2 and 3 are repeated with that.

The bound is that of the prices; a time limit or an interruption costs quality, never the proof.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...allocation.allocated import AllocatedGpu, MpsGpu, renumbered
from ...model.plan import Start
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ..cost_lattice import NO_GAP, cost_lattice
from ..covers.cover_groups import cover_groups
from ..covers.covers import Covers, cheapest_covers
from ..covers.demands import Demands
from ..covers.hosted_rates import HostedRates
from ..covers.undecided_classes import undecided_classes
from ..dual.lagrangian_data import LagrangianData, known_prices, lagrangian_data, most_to_pay
from ..dual.lagrangian_dual import SLACK, PricedDemand, best_prices
from ..dual.supply import Supply
from ..mig.decoding import cut_gpus
from ..mps.column_generation import generate_columns
from ..mps.columns import Column, columns_of_gpus, enumerate_columns, few_columns, item_tables
from ..mps.decoding import shared_gpus
from ..mps.items import MpsItems, mps_items
from ..mps.packed_residents import DEARNESS
from ..mps.program import by_columns
from ..primal.cheapest_ways import costs_by_way
from ..primal.restricted_master import ChosenCovers, MpsChoice, choose_covers
from ..proof import is_within

PRICES = (
    "Lagrangian bound at the slice prices (solver/exact/dual/lagrangian_dual.py), with GPUs under MPS in whole units "
    "of shares (solver/exact/covers/shared_rates.py): no cut of a GPU is worth more than the GPU, every workload costs "
    "at least its cheapest cover, and neighbours never make a resident faster"
)

CLOSE_CALL = 0.25
"""Part of the cheaper of its two costs by which they may differ for a workload to stay open."""

MOST_OPEN = 120
"""Workloads that stay open at most, the closest calls."""

MOST_CLASSES = 400
"""Classes of workloads with several near covers in the program."""

ROUNDS = 3

COLUMNS_TIME = 0.4
"""Part of a round's time that generating columns may take."""


@dataclass(frozen=True, eq=False)
class FleetPrices:
    """Prices, and the cheapest covers by partitions at them."""

    priced: PricedDemand
    bound: float
    """Lower bound on the cost per hour, rounded up to what whole GPUs can cost; inf: no plan can keep the counts."""
    data: LagrangianData
    method: str = PRICES
    """Of the bound."""
    hosted: HostedRates | None = None
    """What residents are known to take at least, where that is more than in the data."""

    @property
    def most_demanding(self) -> Demands:
        """What services ask for by all that is known of residents."""
        return self.data.demands if self.hosted is None else replace(self.data.demands, shared=self.hosted)


@dataclass(frozen=True, eq=False)
class PricedPlan:
    """A plan of the whole fleet."""

    gpus: list[AllocatedGpu]
    cost: float


def fleet_prices(resolved: ResolvedProblem, *, start: Start = None, deadline: float) -> FleetPrices:
    """Returns prices, looked for from `start` on, and their bound; `deadline` as time.monotonic() has it."""
    data = lagrangian_data(resolved)
    most = most_to_pay(resolved)
    known = known_prices(resolved, start, data.sizes)
    priced = best_prices(data.demands, data.supply, start=known, enough=most, deadline=deadline)
    bound = np.inf if priced.bound > most * (1 + 1e-6) else cost_lattice(resolved).next_cost(priced.bound)
    return FleetPrices(priced, bound, data)


def rents_of(resolved: ResolvedProblem, prices: FleetPrices) -> dict[str, float]:
    """Returns what a GPU of each type costs more for there are only so many, USD per hour."""
    rents = prices.priced.rent.tolist()
    return {entry.gpu.name: max(rent, 0.0) for entry, rent in zip(resolved.fleet, rents, strict=True)}


Place = Callable[[ResolvedProblem], Sequence[MpsGpu]]
"""Places as many workloads of a problem on GPUs under MPS as it can, counts apart."""


def plan_at_prices(
    resolved: ResolvedProblem, prices: FleetPrices, place: Place, *, deadline: float
) -> tuple[PricedPlan | None, bool]:
    """
    Returns the best plan of a few rounds, and whether its time limit ended some part of them.

    None: no plan was found in time, or the counts are too small for one.

    Parameters
    ----------
    place
        A heuristic, whose GPUs are the first sets of residents where sets are generated.
    """
    best: PricedPlan | None = None
    dearness = np.full(len(resolved.mps), DEARNESS)
    seen: set[bytes] = set()
    limited = False
    for turn in range(ROUNDS):
        left = deadline - time.monotonic()
        split = _split(prices, dearness)
        limited |= left <= 0
        if left <= 0 or split.key in seen:
            break
        seen.add(split.key)
        plan, late = _planned(resolved, prices, split, place, time.monotonic() + left / (ROUNDS - turn))
        limited |= late
        if plan is None:
            continue
        if best is None or plan.cost < best.cost * (1 - NO_GAP):
            best = plan
        if is_within(resolved.gap, best.cost, prices.bound):
            break
        dearness = _dearness(resolved, prices, plan, dearness)
    return best, limited


@dataclass(frozen=True, eq=False)
class _Split:
    """Workloads that are covered by partitions, that are residents, and that are open."""

    covered: Ints
    residents: Ints
    open: Ints

    @property
    def key(self) -> bytes:
        return b"|".join(part.tobytes() for part in (self.covered, self.residents, self.open))


def _split(prices: FleetPrices, dearness: Floats) -> _Split:
    """Decides by prices where workloads are served, but for the closest calls."""
    shares, by_partitions = costs_by_way(prices.data.demands, prices.priced.price, dearness)
    by_shares = shares.min(axis=1)
    less = np.minimum(by_shares, by_partitions)
    with np.errstate(invalid="ignore"):
        apart = np.abs(by_shares - by_partitions) / less
    close = np.flatnonzero(apart < CLOSE_CALL)
    close = np.sort(close[np.argsort(apart[close], kind="stable")[:MOST_OPEN]])
    decided = np.ones(len(less), dtype=bool)
    decided[close] = False
    return _Split(
        np.flatnonzero(decided & (by_partitions <= by_shares)),
        np.flatnonzero(decided & (by_shares < by_partitions)),
        close,
    )


def cheapest_covers_of(prices: FleetPrices, rows: Ints) -> Ints:
    """Returns a cheapest cover by partitions of each of some workloads, shape (row, size)."""
    covers = _covers(prices, rows, 0.0)
    return np.asarray(covers.counts[covers.first()])


def _fluid(prices: FleetPrices) -> Floats:
    """Returns the GPUs of each type that each rate takes as a fluid, shape (workload, type under MPS)."""
    if prices.data.demands.shared is None:
        raise ValueError("no GPUs of the fleet may be shared by MPS")
    return prices.data.demands.shared.gpus


def _covers(prices: FleetPrices, rows: Ints, slack: float) -> Covers:
    """Returns covers by partitions alone of some workloads, numbered by their place among these."""
    own = replace(prices.data.demands.of(rows), shared=None)
    return cheapest_covers(own, prices.priced.price[: len(prices.data.sizes)], slack)


def _planned(
    resolved: ResolvedProblem, prices: FleetPrices, split: _Split, place: Place, deadline: float
) -> tuple[PricedPlan | None, bool]:
    """Returns the plan of one integer program, and whether its time limit ended it or the search for its columns."""
    covered = np.concatenate([split.covered, split.open])
    open_ = np.arange(len(split.covered), len(covered))
    hosted = np.concatenate([split.residents, split.open])
    guests = resolved.restricted_to(hosted.tolist())
    guests = replace(guests, capacity_rps=np.zeros_like(guests.capacity_rps))
    started = time.monotonic()
    columns_by = started + COLUMNS_TIME * (deadline - started)
    shared, columns = _columns(guests, place, columns_by)
    late = time.monotonic() > columns_by
    sizes, cuts = len(prices.data.sizes), len(prices.data.patterns)
    supply = prices.data.supply
    choice = choose_covers(
        undecided_classes(cover_groups(_covers(prices, covered, SLACK)), prices.priced.price[:sizes], open_),
        Supply(supply.instances[:cuts, :sizes], supply.gpu_type[:cuts], supply.cost[:cuts], supply.available),
        least_cost=prices.bound,
        steps=cost_lattice(resolved),
        slices=None,
        time_limit_s=max(deadline - time.monotonic(), 0.05),
        most_classes=MOST_CLASSES,
        shared=MpsChoice(
            by_columns(guests, shared, columns),
            always=len(split.residents),
            gpu_type={entry.gpu.name: g for g, entry in enumerate(resolved.fleet)},
        ),
    )
    chosen = choice.covers
    plan = None if chosen is None else _decoded(resolved, prices, chosen, covered, hosted, guests, shared)
    return plan, late or choice.limited


def _columns(guests: ResolvedProblem, place: Place, deadline: float) -> tuple[MpsItems, Sequence[Column]]:
    """Returns what may stand on GPUs under MPS, and the sets of it that fit: all, or generated ones."""
    shared = mps_items(guests, parts=False)
    tables = item_tables(guests, shared)
    listed = [enumerate_columns(table) for table in tables]
    if all(of_type.complete for of_type in listed):
        return shared, few_columns([column for of_type in listed for column in of_type.columns])
    known = columns_of_gpus(guests, shared, place(guests))
    return shared, few_columns(generate_columns(guests, shared, tables, known, deadline=deadline).columns)


def _decoded(
    resolved: ResolvedProblem,
    prices: FleetPrices,
    chosen: ChosenCovers,
    covered: Ints,
    hosted: Ints,
    guests: ResolvedProblem,
    shared: MpsItems,
) -> PricedPlan:
    partitions = np.zeros(resolved.capacity_rps.shape, dtype=np.int64)
    partitions[np.ix_(covered, prices.data.sizes)] = chosen.partitions
    used = [(pattern, int(times)) for pattern, times in zip(prices.data.patterns, chosen.cuts, strict=True) if times]
    residents = [renumbered(gpu, hosted.tolist()) for gpu in shared_gpus(guests, shared.items, chosen.shared)]
    return PricedPlan([*cut_gpus(resolved, used, partitions), *residents], chosen.cost)


def _dearness(resolved: ResolvedProblem, prices: FleetPrices, plan: PricedPlan, before: Floats) -> Floats:
    """Returns for each type how many GPUs under MPS a plan has for each that the fluid would take."""
    number = {gpu: g for g, gpu in enumerate(resolved.mps)}
    taken, fluid = np.zeros(len(number)), np.zeros(len(number))
    gpus = _fluid(prices)
    for gpu in plan.gpus:
        if isinstance(gpu, MpsGpu):
            g = number[gpu.gpu]
            taken[g] += 1
            fluid[g] += sum(gpus[w, g] for w in set(gpu.workloads))
    return np.where(fluid > 0, np.maximum(taken / np.maximum(fluid, 1e-9), 1.0), before)
