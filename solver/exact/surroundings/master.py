"""
The linear program for prices: the greatest sum of prices at which no set that was met is worth more than its GPU.

    max  sum_i n_i y_i    s.t.   sum_{i in S} y_i <= c_S   for the sets S met,     y in a box about a centre

n_i: how many there are of customer i; c_S: the price of the GPU that S stands on. Far from prices at which something is
known the program knows too few sets to say anything, so it may go only so far. Its duals say how many GPUs hold each
set. Of many sets those join that a solution violates, until none does.

Prices may be asked to be in a linear space (smooth_prices.py), which leaves the program few variables, each in a range.
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array, csr_array, vstack

from ...performance.interference.prediction import Floats, Ints
from ..backends.linear_program import BASIC, Basis, least_cost
from ..backends.sparse_rows import sparse_rows
from .smooth_prices import PriceSpace

FIRST, JOINING = 1_000, 1_500
"""Sets in the program at first, and that join at a time."""

ALMOST = 0.002
"""Part of its GPU's price by which a set may be worth less at the last solution to be in the program at first."""

MOST_TURNS = 8

VIOLATED = 1e-7
"""Part of a GPU's price by which a set may be worth more in a solution."""

Met = tuple[int, tuple[int, ...]]
"""A GPU type, and the customers of a set there, rising; one may stand in it several times."""


def is_left(one: Met, left_of: Sequence[int]) -> bool:
    """Tells whether enough is left of each customer of a set; `left_of`: how many of each."""
    members = one[1]
    if len(set(members)) == len(members):
        return min(map(left_of.__getitem__, members)) > 0
    return all(left_of[customer] >= members.count(customer) for customer in members)


class Master:
    """The sets that were met, as rows of a matrix."""

    def __init__(self, wanted: Floats, usd_per_hour: Sequence[float]) -> None:
        self._wanted, self._price_of = wanted, np.array(usd_per_hour)
        self._seen: dict[Met, None] = {}
        self._rows = csr_array((0, len(wanted)))
        self._used = np.zeros(0)
        self._last: Floats | None = None
        """The last solution."""
        self._of_prices: Ints | None = None
        """Of its basis the status of each variable."""
        self._of_rows: Ints = np.zeros(0, dtype=np.int64)
        """Of its basis the status of each set; BASIC where it was not in the program."""
        self.space: PriceSpace | None = None
        """The prices that may be; None: any."""

    def __len__(self) -> int:
        return len(self._seen)

    @property
    def sets(self) -> list[Met]:
        """The sets that are kept."""
        return list(self._seen)

    def add(self, sets: Sequence[Met]) -> bool:
        """Adds sets, and tells whether any is new; those that are there stay as they are."""
        self._seen.update(dict.fromkeys(sets))
        known = self._rows.shape[0]
        new = [members for _, members in list(self._seen)[known:]]
        if not new:
            return False
        columns = np.concatenate([np.array(one, dtype=np.int64) for one in new])
        ends = np.cumsum([0, *map(len, new)])
        rows = csr_array((np.ones(len(columns)), columns, ends), shape=(len(new), len(self._wanted)))
        rows.sum_duplicates()
        self._rows = csr_array(vstack([self._rows, rows]))
        self._used = np.append(self._used, np.zeros(len(new)))
        self._of_rows = np.append(self._of_rows, np.full(len(new), BASIC))
        return True

    def keep(self, price: Floats, most: int) -> None:
        """Keeps so many sets at most: those that the last solution uses, then those worth most of their GPU."""
        if len(self._seen) <= most:
            return
        worth = self.worth(price) + np.where(self._used > 0, 1.0, 0.0)
        kept = np.sort(np.argsort(-worth, kind="stable")[:most])
        sets = list(self._seen)
        self._seen = dict.fromkeys(sets[i] for i in kept.tolist())
        self._rows, self._used, self._of_rows = csr_array(self._rows[kept]), self._used[kept], self._of_rows[kept]

    def costs(self) -> Floats:
        """Returns the price of the GPU of each set, USD per hour."""
        return self._price_of[np.array([of_type for of_type, _ in self._seen], dtype=np.int64)]

    def worth(self, price: Floats) -> Floats:
        """Returns what each set is worth, as a part of its GPU's price."""
        return np.asarray(self._rows @ price, dtype=np.float64) / self.costs()

    def best_prices(self, centre: Floats, box: float, time_limit_s: float) -> tuple[Floats, Floats] | None:
        """
        Returns prices in the box that are worth most together, and the GPUs that hold each set; None: none in time.

        Parameters
        ----------
        centre
            Shape (customer,), USD per hour.
        box
            Part of its price by which that of a customer may differ; those of a space have ranges of its own.
        """
        costs = self.costs()
        inside = self._first(centre, box)
        space = self.space
        bounds = np.stack([centre * (1 - box), centre * (1 + box)], axis=1) if space is None else space.ranges(centre)
        price, used = centre, np.zeros(len(costs))
        for _ in range(MOST_TURNS):
            own: Ints = np.flatnonzero(inside)
            found = self._solved(own, costs[own], bounds, time_limit_s)
            if found is None:
                return None
            price, used = found[0], np.zeros(len(costs))
            used[own] = np.maximum(found[1], 0.0)
            worth = self.worth(price)
            violated = np.flatnonzero((worth > 1 + VIOLATED) & ~inside)
            if not violated.size:
                break
            inside[violated[np.argsort(-worth[violated], kind="stable")[:JOINING]]] = True
        self._used, self._last = used, price
        return price, used

    def _first(self, centre: Floats, box: float) -> np.ndarray:
        """Tells which sets are in the program at first: those that were used, and those near the centre or the last."""
        inside: np.ndarray = self._used > 0
        for price, less in ((centre, 2 * box), (self._last, ALMOST)):
            if price is not None:
                worth = self.worth(price)
                near = np.flatnonzero(worth > 1 - less)
                inside[near[np.argsort(-worth[near], kind="stable")[:FIRST]]] = True
        return inside

    def _solved(self, own: Ints, costs: Floats, bounds: Floats, time_limit_s: float) -> tuple[Floats, Floats] | None:
        """Returns the prices and the GPUs of each set of the program over some sets, from the last basis on."""
        space, rows = self.space, self._rows[own]
        weight, matrix = (self._wanted, rows) if space is None else (self._wanted @ space.basis, rows @ space.basis)
        entries = coo_array(matrix)
        try:
            found = least_cost(
                -weight,
                sparse_rows(entries.row.astype(np.int64), entries.col.astype(np.int64), entries.data, matrix.shape),
                np.full(len(costs), -np.inf),
                costs,
                least=bounds[:, 0],
                most=bounds[:, 1],
                few_columns=True,
                start=self._start(own, len(weight)),
                time_limit_s=max(time_limit_s, 0.1),
            )
        except TimeoutError:
            return None
        if found is None:
            return None
        self._of_rows[:] = BASIC
        if found.basis is None:
            self._of_prices = None
        else:
            self._of_prices, self._of_rows[own] = found.basis.variable, found.basis.constraint
        price = found.x if space is None else space.prices(found.x)
        return price, -found.dual

    def _start(self, own: Ints, variables: int) -> Basis | None:
        """Returns the last basis for some sets; None: there was none, or one of other variables."""
        if self._of_prices is None or len(self._of_prices) != variables:
            return None
        return Basis(self._of_prices, self._of_rows[own])
