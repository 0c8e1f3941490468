"""
What to serve where the GPUs are too few, from slice prices: a first choice, and a bound on the value of any.

Bound. At prices p_k >= 0 the partitions on a GPU of type g are worth at most u_g = max_q a_q p, so those of any plan at
most U = sum_g N_g u_g. Whoever is served takes partitions that are worth at least c_w, the cheapest cover (covers.py;
GPUs under MPS are a fluid there). So what can be served is worth no more than a knapsack of size U holds,

    max  sum_w v_w s_w    s.t.  sum_w c_w s_w <= U,   0 <= s_w <= 1

whose optimum takes services by v_w / c_w until it is full, of the last one a part (Dantzig, Operations Research 5(2),
1957). It holds for any prices, and with partitions that are kept free no more can be served than without.

Prices. As if there were enough of each GPU type; and where several types have counts, as if there were just these and
as if there were a few more, which makes partitions of the scarce type dear. Of 3,000 services on two types the first
choice then serves 2,921 for 2,775, of at most 2,994.

Choice. The longest beginning of that order that fits with everyone's cheapest cover, by bisection; each try is the
program of spare_plans.py, of a few rows.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from math import ceil, floor, inf

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ..covers.covers import cheapest_covers
from ..fleet.fleet_by_prices import FleetPrices, fleet_prices
from ..fleet.spare_plans import built_with_spares
from ..mig.cutting_stock import CuttingStockAnswer
from ..mig.spare_rules import SpareRules

ROUNDING = 1e-9
"""Part by which a knapsack is taken for larger, as costs of covers are sums of rounded figures."""

NOTHING_KEPT = SpareRules(services=0, rate=0.0, gpu_loss=False)


ENLARGED = (1.0, 1.05)
"""How often the GPUs that there are, for prices of scarce types; on two types 1.02 to 1.2 serve alike."""


def prices_without_counts(resolved: ResolvedProblem, *, deadline: float) -> FleetPrices:
    """Returns slice prices as if there were enough of each GPU type; `deadline` as time.monotonic() has it."""
    endless = tuple(replace(entry, available=None) for entry in resolved.fleet)
    return fleet_prices(replace(resolved, fleet=endless), deadline=deadline)


def prices_to_choose_by(resolved: ResolvedProblem, *, deadline: float) -> Iterator[FleetPrices]:
    """Yields slice prices to order services by; at first, at any rate, as if there were enough of each GPU type."""
    yield prices_without_counts(resolved, deadline=deadline)
    if len(resolved.fleet) == 1:
        return
    for factor in ENLARGED:
        if time.monotonic() < deadline:
            fleet = tuple(
                replace(entry, available=None if entry.available is None else ceil(factor * entry.available))
                for entry in resolved.fleet
            )
            yield fleet_prices(replace(resolved, fleet=fleet), deadline=deadline)


def most_value(resolved: ResolvedProblem, prices: FleetPrices) -> float:
    """Returns an upper limit on what the services are worth together that the fleet can serve."""
    worth = np.array([workload.worth for workload in resolved.problem.workloads])
    cost = _least_costs(prices)
    left = _fleet_value(resolved, prices) * (1 + ROUNDING)
    order = np.argsort(-worth / cost, kind="stable")
    taken = np.clip((left - (np.cumsum(cost[order]) - cost[order])) / cost[order], 0.0, 1.0)
    most = min(float(worth[order] @ taken), float(worth.sum()))
    return float(floor(most + 1e-6)) if all(value.is_integer() for value in worth.tolist()) else most


def first_choice(
    resolved: ResolvedProblem, rules: SpareRules | None, prices: FleetPrices, *, time_limit_s: float
) -> tuple[list[int], CuttingStockAnswer] | None:
    """Returns services that the fleet serves by MIG and whole GPUs, and how, numbered among them; None: none fit."""
    price, partitions, order = _ordered(resolved, prices)
    fits, too_many, found = 0, len(order) + 1, None
    tried = len(order)
    while too_many - fits > 1:
        chosen = np.sort(order[:tried])
        part = resolved.restricted_to(chosen.tolist())
        built = built_with_spares(
            part, rules or NOTHING_KEPT, partitions[chosen], price, time_limit_s=time_limit_s / len(order).bit_length()
        )
        if built is None:
            too_many = tried
        else:
            fits, found = tried, (chosen.tolist(), built)
        tried = (fits + too_many) // 2
    return found


def order_of_choice(resolved: ResolvedProblem, prices: FleetPrices) -> Ints:
    """Returns the services that partitions alone can serve, those first that are worth most for what they take."""
    return _ordered(resolved, prices)[2]


def _ordered(resolved: ResolvedProblem, prices: FleetPrices) -> tuple[Floats, Ints, Ints]:
    """Returns prices, shape (size,), cheapest covers, shape (workload, size), and the order of choice."""
    worth = np.array([workload.worth for workload in resolved.problem.workloads])
    price = np.zeros(len(resolved.sizes))
    price[prices.data.sizes] = prices.priced.price[: len(prices.data.sizes)]
    rows, partitions = _own_covers(prices, price)
    return price, partitions, rows[np.argsort(-worth[rows] / (partitions[rows] @ price), kind="stable")]


def _own_covers(prices: FleetPrices, price: Floats) -> tuple[Ints, Ints]:
    """Returns the services that partitions alone can serve, and their cheapest covers, shape (workload, size)."""
    own = replace(prices.data.demands, shared=None)
    rows = np.flatnonzero(own.can_be_covered())
    partitions = np.zeros((len(own.part), len(price)), dtype=np.int64)
    if rows.size:
        covers = cheapest_covers(own.of(rows), price[prices.data.sizes])
        partitions[np.ix_(rows, prices.data.sizes)] = covers.counts[covers.first()]
    return rows, partitions


def _least_costs(prices: FleetPrices) -> Floats:
    """Returns c, shape (workload,): what each service's partitions are worth at least."""
    return cheapest_covers(prices.data.demands, prices.priced.price).floor


def _fleet_value(resolved: ResolvedProblem, prices: FleetPrices) -> float:
    """Returns U: what all partitions of the fleet are worth at most; inf: a type of use has no count."""
    worth = prices.data.supply.instances @ prices.priced.price
    value = 0.0
    for g, entry in enumerate(resolved.fleet):
        most = float(worth[prices.data.supply.gpu_type == g].max(initial=0.0))
        if most > 0:
            value += inf if entry.available is None else entry.available * most
    return value
