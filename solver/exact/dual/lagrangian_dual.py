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

GPUs shared by MPS are sizes too, each a GPU of its own, of which workloads take parts (covers/shared_rates.py).

Prices of partitions alone: covers are listed at the best prices known, which gives L there; the prices where the covers
listed so far promise most (pooled_covers.py) come next, until nothing more is promised. Good first prices come from a
sample of the workloads, better ones from larger samples, so all of them are listed a few times. Services of great rates
have countless covers near any prices that are not good, so in the smallest sample each is taken for several of a part
of its rate.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...performance.interference.prediction import Floats
from ..backends.linear_program import least_cost
from ..backends.sparse_rows import of_dense
from ..covers.cover_groups import CoverGroups, cover_groups
from ..covers.covers import cheapest_covers, number_of_covers
from ..covers.demands import Demands, in_parts
from ..covers.listed_covers import ListedCovers, listed_covers
from .pooled_covers import PooledCovers
from .supply import LEAST_PRICE, Supply, feasible, feasible_unlimited, least_rent, proportional

PRECISION = 1e-7
"""Part of the bound that better prices could still add when the search stops."""

MOST_ROUNDS = 200

BEYOND_MEASURE = 1e12
"""Times what a GPU costs: a partition's price is only higher where GPUs are so few that any bound can be proven."""

SAMPLES = (250, 2_000, 16_000)
"""Workloads from which the first prices of a larger problem come, and better ones."""

LARGER = 2.5
"""Times a sample from which on it is one."""

SAMPLE = 2_000
"""The same where GPUs may be shared by MPS."""

FEW_ENUMERATED = 300
"""Workloads up to which covers are enumerated anew at all prices."""

MOST_ENUMERATED = 8_000
"""Workloads whose covers are enumerated anew at all prices, up to which prices that are not unique are raised, too."""

LISTED = 0.002
"""How much dearer than the cheapest cover one may be and still be listed for the search."""

SLACK = 0.03
"""The same for programs over covers, where there are not too many."""

MOST_LISTED = 300_000
"""Covers from which on those for programs are too many."""

BOX = 0.05
"""How far prices may move, up or down, from where covers were listed last."""

MANY_PARTITIONS = 6
"""Partitions of its largest size from which on a workload has so many covers that an eighth of the slack will do."""

MOST_COVERS = 60
"""Covers that a workload may have at a slack, on average, before a smaller one is taken."""

COUNTED = 100
"""Workloads of which the covers are counted for that."""

MOST_COUNTED = 1 << 19
"""Partial covers on the way to theirs: with more, listing takes too long, however few come of it."""

MOST_SEEN = 60
"""Demands that one search hands on to the next."""

MOST_RAISES = 10
"""Rounds in which prices are raised at the same bound."""

TIME_LIMIT_S = 60.0
"""For a linear program of some dozen rows, which takes a thousandth of a second."""


@dataclass(frozen=True, eq=False)
class PricedDemand:
    """Prices, the bound that they prove, and what they leave open."""

    price: Floats
    """Shape (size,): USD per hour of a partition."""
    rent: Floats
    """Shape (type,): USD per hour by which the scarcity of a GPU type raises its partitions; 0: enough of them."""
    bound: float
    """Lower bound on the cost per hour of any plan."""
    listed: ListedCovers
    """Every cover that is nearly the cheapest at these prices, by partitions alone."""
    slack: float
    """Part of the cheapest's cost by which a cover may be dearer and is listed."""
    converged: bool
    """Whether better prices could add no more than PRECISION of the bound."""

    @property
    def covers(self) -> CoverGroups:
        """The listed covers."""
        return self.listed.covers


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
    price = feasible(supply, proportional(supply) if start is None else np.maximum(start, 0.0))
    if demands.shared is not None:
        search = _enumerated(demands, supply, price, enough=enough, deadline=deadline)
        covers = cover_groups(cheapest_covers(demands, search.price, SLACK))
        listed = ListedCovers(covers, np.zeros(0, dtype=np.int64), np.zeros((0, demands.part.shape[1])))
        return PricedDemand(search.price, search.rent, search.bound, listed, SLACK, search.converged)
    workloads = len(demands.least)
    for size in (size for size in SAMPLES if workloads > LARGER * size):
        part, fewer, most = _sample(demands, supply, size, enough)
        weight = None
        if size == SAMPLES[0]:
            part, weight = in_parts(part)
        price = _ascend(_Enumerated(part, weight), fewer, price, deadline, precision=1e-5, enough=most).price
    listing = None
    if workloads > FEW_ENUMERATED:
        search, listing = _pooled(demands, supply, price, deadline, enough=enough)
        price = search.price
    else:
        search = _ascend(_Enumerated(demands), supply, price, deadline, precision=PRECISION, enough=enough)
    if workloads <= MOST_ENUMERATED:
        search = _highest(_Enumerated(demands), supply, search, deadline)
    if listing is None or search.price is not price:
        listing = covers_for_prices(demands, search.price)
    listed, slack = listing
    return PricedDemand(search.price, search.rent, search.bound, listed, slack, search.converged)


def covers_for_prices(demands: Demands, price: Floats) -> tuple[ListedCovers, float]:
    """Returns the cheapest covers and few more, by which prices are found, and the part by which they may be dearer."""
    slack = _slack(demands, price, LISTED, MOST_COVERS)
    return listed_covers(demands, price, slack), float(slack.min())


def covers_for_programs(demands: Demands, price: Floats, *, most_each: float = np.inf) -> ListedCovers:
    """
    Returns covers near the cheapest, as many as programs over covers can do with.

    `most_each`: of a workload, on average.
    """
    most = min(most_each, MOST_LISTED / len(demands.least))
    return listed_covers(demands, price, _slack(demands, price, SLACK, most))


def _enumerated(demands: Demands, supply: Supply, price: Floats, *, enough: float, deadline: float) -> "_Search":
    """Returns the best prices where GPUs may be shared by MPS."""
    workloads = len(demands.least)
    if workloads > 4 * SAMPLE:
        part, fewer, most = _sample(demands, supply, SAMPLE, enough)
        price = _ascend(_Enumerated(part), fewer, price, deadline, precision=1e-5, enough=most).price
    enumerated = _Enumerated(demands)
    search = _ascend(enumerated, supply, price, deadline, precision=PRECISION, enough=enough)
    return search if workloads > 4 * SAMPLE else _highest(enumerated, supply, search, deadline)


def _sample(demands: Demands, supply: Supply, size: int, enough: float) -> tuple[Demands, Supply, float]:
    """Returns some of the workloads, their part of the GPUs, and their part of what is enough."""
    workloads = len(demands.least)
    rows = np.linspace(0, workloads - 1, size).astype(np.int64)
    part = size / workloads
    fewer = replace(supply, available=supply.available * part)
    return demands.of(rows), fewer, enough * part


def _slack(demands: Demands, price: Floats, slack: float, most_covers: float) -> Floats:
    """Returns how much dearer than the cheapest a cover of each workload may be to be listed, shape (workload,)."""
    rows = np.unique(np.linspace(0, len(demands.least) - 1, COUNTED).astype(np.int64))
    few, many = demands.of(rows), 1 / demands.part.max(axis=1) > MANY_PARTITIONS
    while True:
        own = np.where(many, slack / 8, slack)
        number = number_of_covers(few, price, own[rows], most_states=MOST_COUNTED)
        if slack == 0.0 or (number is not None and number <= most_covers * len(rows)):
            return own
        slack = slack / 4 if slack > LISTED / 8 else 0.0


def _pooled(
    demands: Demands, supply: Supply, price: Floats, deadline: float, *, enough: float
) -> tuple["_Search", tuple[ListedCovers, float]]:
    """Returns the best prices of many workloads from good ones, and the covers there; the module says how."""
    pool = PooledCovers(len(demands.least))
    limited = np.flatnonzero(np.isfinite(supply.available))
    best = _Search(price, least_rent(supply, price), -np.inf, False, [])
    of_best = listed, slack = covers_for_prices(demands, price)
    for turn in range(MOST_ROUNDS):
        if turn:
            listed, slack = covers_for_prices(demands, price)
        pool.add(listed)
        rent = least_rent(supply, price)
        value = float(listed.covers.members @ listed.least_cost(price))
        bound = value - float(supply.available[limited] @ rent[limited])
        if bound > best.bound:
            best, of_best = _Search(price, rent, bound, False, best.demands), (listed, slack)
        if time.monotonic() > deadline or best.bound > enough * (1 + 1e-6):
            break
        pool.box = (best.price * (1 - BOX), best.price * (1 + BOX))
        hoped = _ascend(pool, supply, best.price, deadline, precision=PRECISION / 100, enough=np.inf, seen=best.demands)
        best = replace(best, demands=hoped.demands)
        if hoped.bound - best.bound <= PRECISION * max(abs(best.bound), 1e-9):
            return replace(best, converged=True), of_best
        price = hoped.price
    return best, of_best


def prices_of_pool(
    pool: PooledCovers,
    supply: Supply,
    price: Floats,
    box: tuple[Floats, Floats],
    seen: Sequence[Floats],
    deadline: float,
) -> tuple[Floats, float, Sequence[Floats]]:
    """
    Returns the best prices in a box by the covers of a pool, what they promise, and the demands seen on the way.

    Parameters
    ----------
    price
        Shape (size,): where the search begins.
    seen
        Demands that an earlier search saw.
    """
    unit = float(supply.cost.min())
    pool.box = (box[0] / unit, box[1] / unit)
    in_units = replace(supply, cost=supply.cost / unit)
    search = _ascend(pool, in_units, price / unit, deadline, precision=PRECISION / 100, enough=np.inf, seen=seen)
    return search.price * unit, search.bound * unit, search.demands


class _Enumerated:
    """Evaluates prices by enumerating the covers anew, of workloads that stand for a number of them each."""

    def __init__(self, demands: Demands, weight: Floats | None = None) -> None:
        self._demands = demands
        self._weight = np.ones(len(demands.least)) if weight is None else weight
        self.box: tuple[Floats, Floats] | None = None

    def demand(self, price: Floats) -> tuple[float, Floats]:
        """Returns the cost of the cheapest covers, and the partitions of each size that they take."""
        covers = cheapest_covers(self._demands, price)
        chosen = covers.taken[covers.first()]
        return float(self._weight @ covers.floor), np.asarray(self._weight @ chosen, dtype=np.float64)


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
        rent = least_rent(supply, price)
        limited = np.flatnonzero(np.isfinite(supply.available))
        bound = value - float(supply.available[limited] @ rent[limited])
        if bound >= wanted:
            return _Search(price, rent, max(bound, 0.0), True, demands)
        demands.append(demand)
    return search


def _ascend(
    covers: _Enumerated | PooledCovers,
    supply: Supply,
    price: Floats,
    deadline: float,
    *,
    precision: float,
    enough: float,
    seen: Sequence[Floats] = (),
) -> _Search:
    """
    Raises the bound by cutting planes in a box around the best prices.

    Parameters
    ----------
    seen
        Demands of covers of the same workloads, at any prices: planes to begin with.
    """
    limited = np.flatnonzero(np.isfinite(supply.available))
    rent = least_rent(supply, price)
    value, demand = covers.demand(price)
    demands, radius = [*seen[-MOST_SEEN:], demand], 0.25
    best = _Search(price, rent, value - float(supply.available[limited] @ rent[limited]), False, demands)
    for _ in range(MOST_ROUNDS):
        if time.monotonic() > deadline or best.bound > enough * (1 + 1e-6):
            return best
        if best.price.max() > BEYOND_MEASURE * supply.cost.max():
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
        promising = gain > precision * max(abs(best.bound), 1e-9)
        if promising:
            value, demand = covers.demand(price)
            rent = least_rent(supply, price)
            bound = value - float(supply.available[limited] @ rent[limited])
            # Where the plane is not new either, the program hoped for its own tolerance.
            promising = bound > best.bound or not any(np.array_equal(demand, one) for one in demands)
        if not promising:
            # Nothing to gain in this box; in a concave function nothing beyond it either, if the box does not bind.
            inside = not at_edge or (covers.box is None and radius >= 0.25)
            if inside:
                return _Search(best.price, best.rent, best.bound, True, demands)
            if covers.box is not None and radius >= 0.25:
                return best
            radius = 0.25
            continue
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
    # Columns: how far prices are from the highest, or from the lowest where there is no highest; rents; theta. A price
    # that no plane asks for is the highest then, as the solver leaves at 0 what is of no matter: at the lowest one many
    # covers would tie.
    end, step = np.where(np.isfinite(high), high, low), np.where(np.isfinite(high), -1.0, 1.0)
    planes = np.hstack([-cuts * step, np.zeros((len(cuts), types)), np.ones((len(cuts), 1))])
    rents = np.where((supply.gpu_type[:, None] == np.arange(types)) & limited, -1.0, 0.0)
    worth = np.hstack([supply.instances * step, rents, np.zeros((len(supply.instances), 1))])
    objective = np.concatenate([np.zeros(sizes), np.where(limited, supply.available, 0.0) / scale, [-1.0]])
    rent = np.full(types, np.inf) if most_rent is None else most_rent
    least = np.concatenate([np.zeros(sizes + types), [-np.inf]])
    most = np.concatenate([high - low, rent, [np.inf]])
    rows = np.vstack([planes, worth])
    limits = np.concatenate([cuts @ end, supply.cost - supply.instances @ end])
    if at_least is not None:
        rows, limits = np.vstack([rows, objective]), np.append(limits, -at_least / scale)
        objective = np.concatenate([-step, np.zeros(types + 1)])
    none = np.full(len(limits), -np.inf)
    try:
        answer = least_cost(
            objective,
            of_dense(rows),
            none,
            limits,
            least=least,
            most=most,
            few_columns=True,
            time_limit_s=TIME_LIMIT_S,
        )
    except TimeoutError:  # the whole search has no more
        return None
    if answer is None:
        return None
    # The program keeps its limits within its tolerance only: small prices would come out as 0 or below, and then no
    # covers could be compared by their price per part.
    price = np.clip(end + step * answer.x[:sizes], low, high)
    return feasible_unlimited(supply, price), float(-answer.cost * scale)
