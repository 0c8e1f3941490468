"""
Prices of partition sizes: the Lagrangian dual of the MIG cutting stock (cutting_stock.py), and the bound that it gives.

The rates, the counts and the replica limits couple a workload's partitions only among themselves; workloads meet only
in the few constraints that say that partitions are cut from GPUs, one a size. Give each size k a price p_k >= 0 and
each limited GPU type g a rent m_g >= 0 for its scarcity:

    L(p, m) = sum_w min { p n : n covers w }  -  sum_g N_g m_g     with  a_q p <= c_g + m_g  for every cut q of type g

L is a lower bound on the cost of any plan, for any such prices: a plan pays at least p for its partitions by the second
condition, and its partitions cost at least the cheapest covers (covers.py). So the bound is valid whenever the search
for good prices stops. L is concave, and it is the sum of the cheapest covers: D p for the demand D of the covers chosen
there. The greatest of it is found by cutting planes, theta <= D_i p for every demand seen, in a box around the best
prices so far; with a handful of sizes that is a tiny linear program. Its own dual mixes the demands and counts the
GPUs, as a fractional plan of the same cost.

GPUs shared by MPS are sizes too, each a GPU of its own, of which workloads take parts as a fluid (covers.py).

Many workloads: good prices come from a sample, better ones from a larger sample; then every workload's covers that
could be cheapest in a small box around them are listed once, and only the different sets of such covers are looked at
again.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog

from ..performance.interference.prediction import Floats, Ints
from .alike_covers import AlikeCovers, alike_covers
from .covers import Demands, cheapest_covers

PRECISION = 1e-7
"""Part of the bound that better prices could still add when the search stops."""

MOST_ROUNDS = 200

SAMPLE = 2_000
"""Workloads from which the first prices of a larger problem come."""

LARGE_SAMPLE = 16_000
"""Workloads from which better prices of a still larger problem come, so that the covers of all are listed but once."""

BOX = 0.015
"""How far prices may move, up or down, from where the covers of a larger problem were listed."""

SLACK = 2 * BOX / (1 - BOX)
"""
How much dearer than the cheapest cover one may be and still be listed, for any that could be cheapest within BOX.

A cover that costs more than (1 + SLACK) times the cheapest costs at least (1 - BOX) (1 + SLACK) = 1 + BOX times it in
the box, and the cheapest one at most that.
"""

MOST_RAISES = 10
"""Rounds in which prices are raised at the same bound."""

LEAST_PRICE = 1e-6
"""Of the greatest price: what a size costs that nobody wants."""


@dataclass(frozen=True, eq=False)
class Supply:
    """How GPUs may be cut, and what they cost. Shapes (cut, size), (cut,), (cut,) and (type,)."""

    instances: Ints
    """a: instances of each size in a cut; last come the GPUs under MPS, each a size and a cut of its own."""
    gpu_type: Ints
    cost: Floats
    available: Floats
    """N: GPUs of a type; inf: as many as needed."""


@dataclass(frozen=True, eq=False)
class PricedDemand:
    """Prices, the bound that they prove, and what they leave open."""

    price: Floats
    """Shape (size,): USD per hour of a partition."""
    rent: Floats
    """Shape (type,): USD per hour by which the scarcity of a GPU type raises its partitions; 0: enough of them."""
    bound: float
    """Lower bound on the cost per hour of any plan."""
    covers: AlikeCovers
    """Every cover that could be cheapest near these prices, by partitions alone."""
    converged: bool
    """Whether better prices could add no more than PRECISION of the bound."""


def best_prices(
    demands: Demands, supply: Supply, *, start: Floats | None, enough: float, deadline: float
) -> PricedDemand:
    """
    Returns the prices with the greatest bound that the time allows.

    Parameters
    ----------
    start
        Prices to start from, shape (size,); None: in proportion to what a GPU can be cut into.
    enough
        A bound above which the search stops, because no plan can cost so much: there are too few GPUs.
    deadline
        As time.monotonic() has it. At least one bound is computed.
    """
    cheapest = float(supply.cost.min())
    unit = replace(supply, cost=supply.cost / cheapest)
    known = None if start is None else start / cheapest
    found = _best_prices(demands, unit, start=known, enough=enough / cheapest, deadline=deadline)
    return replace(found, price=found.price * cheapest, rent=found.rent * cheapest, bound=found.bound * cheapest)


def _best_prices(
    demands: Demands, supply: Supply, *, start: Floats | None, enough: float, deadline: float
) -> PricedDemand:
    """The same where the cheapest GPU costs 1: linear programs have tolerances that are no parts of anything."""
    workloads = len(demands.least)
    price = _feasible(supply, _proportional(supply) if start is None else np.maximum(start, 0.0))
    if workloads > 4 * SAMPLE:
        part, fewer, most = _sample(demands, supply, SAMPLE, enough)
        price = _ascend(_Enumerated(part), fewer, price, deadline, precision=1e-5, enough=most).price
    if workloads > 4 * SAMPLE and demands.shared is None:
        if workloads > 4 * LARGE_SAMPLE:
            part, fewer, most = _sample(demands, supply, LARGE_SAMPLE, enough)
            price = _listed(part, fewer, price, deadline, precision=1e-5, enough=most)[0].price
        search, covers = _listed(demands, supply, price, deadline, precision=PRECISION, enough=enough)
    else:
        enumerated = _Enumerated(demands)
        search = _ascend(enumerated, supply, price, deadline, precision=PRECISION, enough=enough)
        if workloads <= 4 * SAMPLE:
            search = _highest(enumerated, supply, search, deadline)
        covers = alike_covers(cheapest_covers(demands, search.price, SLACK))
    return PricedDemand(search.price, search.rent, search.bound, covers, search.converged)


def _sample(demands: Demands, supply: Supply, size: int, enough: float) -> tuple[Demands, Supply, float]:
    """Returns some of the workloads, their part of the GPUs, and their part of what is enough."""
    workloads = len(demands.least)
    rows = np.linspace(0, workloads - 1, size).astype(np.int64)
    part = size / workloads
    fewer = replace(supply, available=supply.available * part)
    return demands.of(rows), fewer, enough * part


def _listed(
    demands: Demands, supply: Supply, price: Floats, deadline: float, *, precision: float, enough: float
) -> tuple["_Search", AlikeCovers]:
    """
    Lists the covers near some prices, and anew near the best ones found as long as better ones lie beyond.

    Prices that stay where they are are the best, although the search may have gone to the edge of the box and back:
    where nobody wants a size, many prices of it are equally good.
    """
    while True:
        listed = _Listed(demands, price)
        search = _ascend(listed, supply, price, deadline, precision=precision, enough=enough)
        stays = np.array_equal(search.price, price)
        if search.converged or stays or search.bound > enough or time.monotonic() > deadline:
            return search, listed.covers
        price = search.price


class _Enumerated:
    """Evaluates prices by enumerating the covers anew."""

    def __init__(self, demands: Demands) -> None:
        self._demands = demands
        self.box: tuple[Floats, Floats] | None = None

    def demand(self, price: Floats) -> tuple[float, Floats]:
        """Returns the cost of the cheapest covers, and the partitions of each size that they take."""
        covers = cheapest_covers(self._demands, price)
        chosen = covers.taken[covers.first()]
        return float(covers.floor.sum()), np.asarray(chosen.sum(axis=0), dtype=np.float64)


class _Listed:
    """Evaluates prices within a box, by the covers listed there, those of workloads with the same covers at once."""

    def __init__(self, demands: Demands, centre: Floats) -> None:
        covers = cheapest_covers(demands, centre, SLACK)
        self.box = (centre * (1 - BOX), centre * (1 + BOX))
        # Where covers were too many to list, another one may be cheaper than the one that is; none is than a fluid.
        self._one_of_many = covers.counts[covers.first()[covers.unlisted]]
        self._part = demands.part[covers.unlisted]
        self.covers = alike_covers(covers)
        self._counts = self.covers.counts.astype(np.float64)

    def demand(self, price: Floats) -> tuple[float, Floats]:
        cost = self._counts @ price
        chosen = self.covers.first_where(cost <= self.covers.least(cost))
        demand = self.covers.members @ self._counts[chosen]
        return float(demand @ price) - self._more_than_a_fluid(price), demand

    def _more_than_a_fluid(self, price: Floats) -> float:
        """Returns what the listed covers of workloads with too many of them cost beyond a fluid."""
        with np.errstate(divide="ignore"):
            fluid = np.min(price / self._part, axis=1, initial=np.inf)
        return float(np.maximum(self._one_of_many @ price - fluid, 0.0).sum())


@dataclass(frozen=True, eq=False)
class _Search:
    price: Floats
    rent: Floats
    bound: float
    converged: bool
    demands: Sequence[Floats]
    """Demands seen: the cutting planes."""


def _highest(covers: _Enumerated, supply: Supply, search: _Search, deadline: float) -> _Search:
    """
    Returns the highest of the prices that prove the same bound.

    Where the best prices are not unique, a size that nobody wants now may have any price up to what making room for
    it would cost. The highest say what one more of a size costs; the lowest, what one less saves. Rents stay. With more
    workloads than are enumerated at once every size is wanted, so there the first prices are left as they are.
    """
    if not search.converged:
        return search
    demands, wanted = list(search.demands), search.bound * (1 - PRECISION)
    low, high = search.price, np.full(len(search.price), np.inf)
    for _ in range(MOST_RAISES):
        planned = _master(supply, demands, low, high, at_least=wanted, most_rent=search.rent)
        if planned is None or time.monotonic() > deadline:
            return search
        price = planned[0]
        value, demand = covers.demand(price)
        rent = _least_rent(supply, price)
        limited = np.flatnonzero(np.isfinite(supply.available))
        bound = value - float(supply.available[limited] @ rent[limited])
        if bound >= wanted:
            return _Search(price, rent, max(bound, 0.0), True, demands)
        demands.append(demand)
    return search


def _ascend(
    covers: _Enumerated | _Listed,
    supply: Supply,
    price: Floats,
    deadline: float,
    *,
    precision: float,
    enough: float,
) -> _Search:
    """Raises the bound by cutting planes in a box around the best prices."""
    limited = np.flatnonzero(np.isfinite(supply.available))
    rent = _least_rent(supply, price)
    value, demand = covers.demand(price)
    demands, radius = [demand], 0.25
    best = _Search(price, rent, value - float(supply.available[limited] @ rent[limited]), False, demands)
    for _ in range(MOST_ROUNDS):
        if time.monotonic() > deadline or best.bound > enough * (1 + 1e-6):
            return best
        low, high = best.price * (1 - radius), best.price * (1 + radius) + LEAST_PRICE * best.price.max()
        if covers.box is not None:
            low, high = np.maximum(low, covers.box[0]), np.minimum(high, covers.box[1])
        planned = _master(supply, demands, low, high)
        if planned is None:
            return best
        price, hoped = planned
        at_edge = bool(np.any((price <= low * (1 + 1e-9)) & (low > 0) | (price >= high * (1 - 1e-9))))
        gain = hoped - best.bound
        if gain <= precision * max(abs(best.bound), 1e-9):
            # Nothing to gain in this box; in a concave function nothing beyond it either, if the box does not bind.
            inside = not at_edge or (covers.box is None and radius >= 0.25)
            if inside:
                return _Search(best.price, best.rent, best.bound, True, demands)
            if covers.box is not None and radius >= 0.25:
                return best
            radius = 0.25
            continue
        value, demand = covers.demand(price)
        rent = _least_rent(supply, price)
        bound = value - float(supply.available[limited] @ rent[limited])
        demands.append(demand)
        if bound > best.bound:
            if bound - best.bound >= 0.5 * gain and at_edge:
                radius = min(2 * radius, 0.5)
            best = _Search(price, rent, bound, False, demands)
        else:
            radius = max(radius / 2, 1e-7)
    return best


def _master(
    supply: Supply,
    demands: Sequence[Floats],
    low: Floats,
    high: Floats,
    at_least: float | None = None,
    most_rent: Floats | None = None,
) -> tuple[Floats, float] | None:
    """
    Returns the prices that the cutting planes like best within the box, and the bound that they hope for there.

    at_least
        A bound to keep: of the prices that do, by the planes, those with the greatest sum; None: the greatest bound.
    most_rent
        Shape (type,): limits on the rents; None: there are none.
    """
    sizes, types = len(low), len(supply.available)
    scale = max(float(np.max([demand.sum() for demand in demands])), 1.0)
    cuts = np.array(demands) / scale
    limited = np.isfinite(supply.available)
    # Columns: prices, rents, theta.
    planes = np.hstack([-cuts, np.zeros((len(cuts), types)), np.ones((len(cuts), 1))])
    rents = np.where((supply.gpu_type[:, None] == np.arange(types)) & limited, -1.0, 0.0)
    worth = np.hstack([supply.instances, rents, np.zeros((len(supply.instances), 1))])
    objective = np.concatenate([np.zeros(sizes), np.where(limited, supply.available, 0.0) / scale, [-1.0]])
    rent_bounds = [(0, None)] * types if most_rent is None else [(0, rent) for rent in most_rent]
    bounds = [*zip(low, high, strict=True), *rent_bounds, (None, None)]
    rows, limits = np.vstack([planes, worth]), np.concatenate([np.zeros(len(cuts)), supply.cost])
    if at_least is not None:
        rows, limits = np.vstack([rows, objective]), np.append(limits, -at_least / scale)
        objective = np.concatenate([-np.ones(sizes), np.zeros(types + 1)])
    answer = linprog(objective, A_ub=rows, b_ub=limits, bounds=bounds, method="highs-ds")
    if answer.x is None or answer.fun is None:
        return None
    # The program keeps its limits within its tolerance only: small prices would come out as 0 or below, and then no
    # covers could be compared by their price per part.
    price = np.clip(answer.x[:sizes], low, high)
    return _feasible_unlimited(supply, price), float(-answer.fun * scale)


def _least_rent(supply: Supply, price: Floats) -> Floats:
    """Returns for each type how much more than its cost the most valuable cut of it is worth."""
    excess = supply.instances @ price - supply.cost
    rent = np.zeros(len(supply.available))
    np.maximum.at(rent, supply.gpu_type, excess)
    return rent


def _feasible_unlimited(supply: Supply, price: Floats) -> Floats:
    """Returns prices scaled down so far that no cut of a type without limit is worth more than it costs."""
    unlimited = ~np.isfinite(supply.available[supply.gpu_type])
    worth = supply.instances[unlimited] @ price
    excess = float(np.max(worth / supply.cost[unlimited], initial=1.0))
    return np.asarray(price / excess if excess > 1 else price, dtype=np.float64)


def _feasible(supply: Supply, price: Floats) -> Floats:
    floored = np.maximum(price, LEAST_PRICE * max(float(price.max()), 1e-9))
    return _feasible_unlimited(supply, floored)


def _proportional(supply: Supply) -> Floats:
    """Returns prices by which a size costs its part of the cheapest GPU that can be cut into it alone."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.min(supply.cost[:, None] / supply.instances, axis=0), dtype=np.float64)
