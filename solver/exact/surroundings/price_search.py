"""
The prices of whole services with the greatest bound: a GPU at its price collects no more than it costs.

    bound = sum_i n_i y_i / max_g (V_g(y) / c_g)                                                                     (1)

for every y >= 0, where no GPU of type g that keeps its SLOs collects more than V_g(y) (exact_price.py) and c_g is its
price, with its rent where there is one (`Customers.with_rents`). Proof: in any plan each service stands on a GPU, so
its GPUs collect sum n_i y_i or more together; one of type g collects at most V_g, that is at most c_g times the
maximum; so their prices sum to the bound at least. Counts of GPUs, memory and other limits make plans only dearer.
Where services are split (more replicas than one) the first step fails: a part of a service collects nothing here. Such
problems have the bound by what GPUs deal to their residents (dealt_costs/).

Prices begin with what each service takes in the surroundings that a known plan has on average. Then, in turn: V at the
present prices, which gives a bound and sets that are worth as much; and the linear program over all sets met
(master.py) in a box about the prices with the best bound, which dear sets at its solution join. The next prices are
part of the way to its solution; the way and the box become shorter when a bound is no better, or by less than a part
of what the program lets expect. V is looked for only until it is so much that the bound can be no better. Where
services are many, prices are smooth (smooth_prices.py) until these are about as good as such can be.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...allocation.allocated import MpsGpu
from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from .cells import grid
from .customers import Customers, OnType, totals_of
from .exact_price import Effort, TypePrices
from .least_demands import least_demands
from .master import Master, Met
from .smooth_prices import price_space

EFFORT = Effort(distance=0.0005, partial=2_000, batches=20)

FEWER_PARTIAL = 500
"""Partial sets of a cell while prices are smooth, which many sets are worth as much at."""

MORE, MOST_BATCHES = 1.5, 120
"""How many times as many batches of cells are looked at after a round that raised no bound, and how many at most."""

SERIOUS = 0.15
"""Part of the rise that the program lets expect below which a bound rose too little for as long a way."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 1.0)
"""Of what a plan's GPUs are asked: there the ranges of the first cells meet, and at WIDER times the greatest."""

WIDER = 1.25

MORE_RESIDENTS = 2
"""By how many residents more than any GPU of a plan has classes are told apart from the start."""

BOX, LEAST_BOX = 0.08, 0.015
"""Part of its price by which a service's price may differ from the best so far in the linear program."""

WAY, LEAST_WAY, SHORTER = 0.4, 0.2, 0.75
"""Part of the way to the program's solution that prices go, and by how much it is shortened."""

MOST_SETS = 100_000
"""Sets of the linear program."""

INNER = 8
"""Times that sets that are worth too much at the program's solution join it before prices go towards that."""

MANY = 500
"""Customers from which on prices are smooth at first."""

SMOOTHEST = 0.006
"""Part of the bound by which smooth prices may make it greater when they need be smooth no longer."""

LEAST_PRICE = 1e-3
"""Part of the average price that smooth prices begin with at least."""

SAFE = 1 - 1e-6
"""What a bound is multiplied by, against rounding: in sums, and of prices to 32 bits, 2^-23 of what a set is worth."""


class PriceSearch:
    """Prices of whole services, the cells of each GPU type, and the sets that were met."""

    def __init__(self, customers: Customers, types: Sequence[TypePrices], price: Floats, *, smooth: bool) -> None:
        """
        Takes prices to begin with, shape (customer,), USD per hour.

        Parameters
        ----------
        types
            The cells of each GPU type, as the customers' types.
        smooth
            Whether prices are smooth at first.
        """
        self.customers, self.types = customers, types
        self._master = Master(customers.wanted, [one.usd_per_hour for one in customers.types])
        self._price = price
        if smooth:
            self._smooth()
        self.centre = self._price
        """Prices with the best bound, at which no GPU is worth more than it costs; shape (customer,), USD per hour."""
        self.bound = 0.0
        """USD per hour."""
        self._way, self._box = WAY, BOX
        self._effort = replace(EFFORT, partial=FEWER_PARTIAL) if smooth else EFFORT
        self.limit = np.inf
        """The bound is no greater than this with the sets met so far, near the best prices."""

    @classmethod
    def near(cls, resolved: ResolvedProblem, customers: Customers, plan: Sequence[MpsGpu]) -> "PriceSearch":
        """Returns a search that begins in the surroundings of a known plan."""
        cells = [_cells_of(resolved, one, plan) for one in customers.types]
        price = _first_prices(customers, cells)
        return cls(customers, [one.prices for one in cells], price, smooth=len(price) >= MANY)

    @property
    def met(self) -> list[Met]:
        """Possible sets that were met."""
        return self._master.sets

    def next_round(self, deadline: float) -> float:
        """Returns the best bound after one round more; `deadline` as time.monotonic() has it."""
        useless = float(self.customers.wanted @ self._price) / self.bound * SAFE if self.bound else np.inf
        most, sets = self._priced(self._effort, useless, deadline)
        self._take(float(self.customers.wanted @ self._price) / most * SAFE, most)
        self._step(sets, deadline)
        return self.bound

    def _priced(self, effort: Effort, useless: float, deadline: float) -> tuple[float, list[Met]]:
        """Returns an upper limit of what a GPU collects of its price, and sets that are worth nearly so much."""
        most = 0.0
        sets: list[Met] = []
        for number, (one, prices) in enumerate(zip(self.customers.types, self.types, strict=True)):
            of_guests = self._price[one.customer] / one.usd_per_hour
            priced = prices.price(of_guests, effort, deadline, useless)
            most = max(most, priced.most)
            sets += [(number, tuple(one.customer[list(members)].tolist())) for members in priced.sets]
        return most, sets

    def _take(self, bound: float, most: float) -> None:
        """Takes a bound if it is better; way and box get shorter where it rises by little of what could be expected."""
        expected = self._way * (self.limit - self.bound) if np.isfinite(self.limit) else 0.0
        rise = bound - self.bound
        if rise > 0:
            self.bound, self.centre = bound, self._price / most
        if rise > SERIOUS * expected:
            self._way = min(self._way / SHORTER, WAY)
        else:
            self._way = max(self._way * SHORTER, LEAST_WAY)
            self._box = max(self._box * SHORTER, LEAST_BOX)
        if rise <= 0:
            batches = min(round(MORE * self._effort.batches), MOST_BATCHES)
            self._effort = replace(self._effort, batches=batches)

    def _step(self, sets: list[Met], deadline: float) -> None:
        self._master.add(sets)
        self._master.keep(self.centre, MOST_SETS)
        found = self._master.best_prices(self.centre, self._box, deadline - time.monotonic())
        for _ in range(INNER):
            if found is None or time.monotonic() > deadline or not self._master.add(self._dear_sets(found[0])):
                break
            found = self._master.best_prices(self.centre, self._box, deadline - time.monotonic())
        if found is not None:
            self.limit = float(self.customers.wanted @ found[0])
            self._price = self.centre + self._way * (found[0] - self.centre)
        if self._master.space is not None and (found is None or self.limit < self.bound * (1 + SMOOTHEST)):
            self._master.space, self._box, self._way = None, BOX, WAY
            self._effort = replace(self._effort, partial=EFFORT.partial)

    def _dear_sets(self, price: Floats) -> list[Met]:
        """Returns some sets that are worth more than their GPU costs at some prices."""
        sets: list[Met] = []
        for number, (one, prices) in enumerate(zip(self.customers.types, self.types, strict=True)):
            dear = prices.dear_sets(price[one.customer] / one.usd_per_hour)
            sets += [(number, tuple(one.customer[list(members)].tolist())) for members in dear]
        return sets

    def _smooth(self) -> None:
        """Makes the first prices smooth, and the next ones."""
        space = price_space(self.customers, [one.typical for one in self.types])
        self._master.space = space
        self._price = np.maximum(space.prices(space.coordinates(self._price)), LEAST_PRICE * self._price.mean())


@dataclass(frozen=True, eq=False)
class _TypeCells:
    """The cells of a GPU type, and the least units of its guests in typical surroundings."""

    prices: TypePrices
    units: Floats


def _cells_of(resolved: ResolvedProblem, one: OnType, plan: Sequence[MpsGpu]) -> _TypeCells:
    guests = one.guests
    met = totals_of(resolved, plan, one.gpu)
    if not met:
        met = [(4, np.zeros(guests.things))]
    residents = np.array([number for number, _ in met])
    totals = np.array([asked for _, asked in met])
    weight = residents / residents.sum()
    typical = weight @ totals
    levels = []
    for own in totals.T:
        ends = np.unique(np.append(np.quantile(own, QUANTILES), own.max() * WIDER))
        levels.append(ends[(ends > 0) & np.isfinite(ends)])
    cells = grid(guests, min(int(residents.max()) + MORE_RESIDENTS, 48), levels)
    least = least_demands(guests, np.array([max(round(float(weight @ residents)), 1)]), typical[:, None]).units[0]
    units = np.minimum(least.astype(np.float64), guests.mps.capacity_units)
    return _TypeCells(TypePrices(guests, one.customer, cells, typical), units)


def _first_prices(customers: Customers, types: Sequence[_TypeCells]) -> Floats:
    """Returns for each customer what its share costs on the type where that is least."""
    price = np.full(len(customers.wanted), np.inf)
    for one, cells in zip(customers.types, types, strict=True):
        np.minimum.at(price, one.customer, one.usd_per_hour * cells.units / one.guests.mps.capacity_units)
    return price
