"""
Few GPUs of one type under MPS whose shares slow each other: contents of whole GPUs as columns of a linear program.

    min  sum_g x_g    s.t.   sum_{g that have item i} x_g >= 1  for every item i,    x >= 0

over the GPUs that were met. Its duals are prices of the items, as parts of a GPU, by which GPUs are filled that are
worth more than they cost (filled_gpus.py), in surroundings near those of the GPUs that the program uses; these are
columns then. Prices go a part of the way to the duals each time, which jump about. An integer program chooses from the
columns; who stands on two GPUs of it leaves one. Plans of many items are filled GPU after GPU by prices instead, and
items on GPUs that are worth least become dearer for the next plan.

A heuristic: it claims nothing.
"""

from collections.abc import Iterator, Sequence
from math import inf
from time import monotonic

import numpy as np
from ortools.math_opt.python import mathopt

from ....performance.interference.prediction import Floats, Ints
from ...backends.array_program import program_of
from ...backends.highs import run_highs
from ...backends.linear_program import least_cost
from ...backends.sparse_rows import sparse_rows
from .filled_gpus import Filled, Filler, fitted
from .tables import Around, Tables

SHARES = 1, 2, 3, 4, 6, 8
"""Of GPUs in whose surroundings GPUs are filled at first."""

ASKED = 0.25, 0.4
"""Parts of the most that shares of so many alike could ask that they ask at first."""

UNIT_PRICES = 0.8, 1.0
"""Parts of a GPU's price that its units are taken to cost together, while it is filled."""

CHEAP = 0.5
"""The same, while plans are filled GPU after GPU."""

NOISE = 0.03
"""By how much prices are changed when a GPU is filled."""

WAY = 0.3
"""Part of the way to the duals that prices go."""

AT_A_TIME = 16
"""Surroundings in which GPUs are filled between two linear programs."""

TOGETHER = 400
"""Items of which columns are collected: of more that takes too long, and GPUs are filled one after the other."""

MOST_CHOSEN_FROM = 1_500
"""Columns in the integer program."""

SLOW, OVER = 0.002, 25
"""The linear program is solved well enough when it becomes less by less than this part over so many solutions."""

AT_FIRST = 3
"""Plans that are filled GPU after GPU before columns are collected."""

LEAST_PRICE = 1e-4
"""Part of a GPU that an item is taken to be worth at least while a plan is filled GPU after GPU."""

IN_VAIN = 6
"""Linear programs without a new column after which no more are looked for."""

TO_CHOOSE = 0.4
"""Part of the time that is left that the integer program may take."""

DEARER = 0.3
"""Part of what a GPU is worth less than the best ones by which its items become dearer."""

Plan = list[Filled]


class PricedSearch:
    """A search for few GPUs."""

    def __init__(self, tables: Tables) -> None:
        self._tables, self._filler = tables, Filler(tables)
        self._draw = np.random.default_rng(1)
        self._columns: dict[tuple[tuple[int, ...], ...], Filled] = {}
        self._count = len(tables.items.owner)
        self.in_fractions = inf
        """GPUs of the last linear program over all columns that were met; no bound of anything."""
        self._is_steady = False
        """Whether more columns hardly changed that."""
        self._fewest = inf

    def plans(self, until: float) -> Iterator[Plan]:
        """Yields plans, each with fewer GPUs than all before; `until`: as time.monotonic() has it."""
        price = self._first_prices()
        if price is None:
            return
        for plan in self._found(price, until):
            if plan is not None and len(plan) < self._fewest:
                self._fewest = len(plan)
                yield plan

    @property
    def looks_best(self) -> bool:
        """Whether no plan of fewer GPUs is to be expected; this proves nothing."""
        return self._is_steady and self.in_fractions > self._fewest - 1 + 1e-6

    def _found(self, price: Floats, until: float) -> Iterator[Plan | None]:
        if self._count > TOGETHER:
            while monotonic() < until:
                plan, price = self._one_after_the_other(price, until)
                yield plan
            return
        corrected = price
        for _ in range(AT_FIRST):
            plan, corrected = self._one_after_the_other(corrected, until)
            yield plan
        while monotonic() < until and not self.looks_best:
            before = len(self._columns)
            price = self._collected(price, until)
            if self.looks_best:
                return
            plan, _ = self._one_after_the_other(np.maximum(price, LEAST_PRICE), until)
            yield plan
            yield self._chosen(monotonic() + TO_CHOOSE * (until - monotonic()))
            if len(self._columns) == before:
                return

    def _first_prices(self) -> Floats | None:
        """Returns what units of a GPU items take where they take least; None: some item fits no GPU."""
        tables, least = self._tables, np.full(self._count, np.inf)
        every = [(i,) for i in range(self._count)]
        alone = [fitted(tables, [one], tables.around(1, np.zeros(1)).caps) for one in every]
        if any(one is None for one in alone):
            return None
        for one in alone:
            if one is not None:
                self._columns[one.key] = one
        units = np.arange(1, tables.units + 1) / tables.units
        for around in self._first_surroundings():
            parts = (around.takes_ms / tables.length_ms[:, None] * units).min(axis=(1, 2))
            back_to_back = np.where(around.alone <= tables.units, around.alone / tables.units, np.inf)
            least = np.minimum(least, np.minimum(parts, back_to_back))
        return least

    def _first_surroundings(self) -> list[Around]:
        tables = self._tables
        found = [tables.around(1, np.zeros(1))]
        for shares in SHARES[1:]:
            unit = max(tables.units // shares, tables.items.mps.least_units) - 1
            most = tables.asks[:, :, :, unit].max(axis=(0, 2))
            found += [tables.around(shares, shares * part * most) for part in ASKED]
        return found

    def _one_after_the_other(self, price: Floats, until: float) -> tuple[Plan | None, Floats]:
        """Returns a plan that is filled GPU after GPU, and prices for the next; None: there was no time."""
        left, plan = np.ones(self._count, dtype=np.bool_), Plan()
        surroundings = self._first_surroundings()
        while left.any():
            if monotonic() >= until:
                return None, price
            filled = [one for around in surroundings if (one := self._fill(around, price, left, CHEAP)) is not None]
            if not filled:
                alone = int(np.flatnonzero(left)[0])
                filled = [self._columns[((alone,),)]]
            best = max(filled, key=lambda one: self._worth(one, price))
            self._add(filled)
            plan.append(best)
            left[list(best.items)] = False
            ranked = sorted(filled, key=lambda one: -self._worth(one, price))[:2]
            surroundings = [*self._near(ranked * 2), *self._some(self._first_surroundings(), 2)]
        worth = np.array([self._worth(one, price) for one in plan])
        dearer, top = price.copy(), float(np.quantile(worth, 0.8))
        for one, own in zip(plan, worth.tolist(), strict=True):
            dearer[list(one.items)] *= 1 + DEARER * min(max(1 - own / top, 0.0), 0.3)
        return plan, dearer

    def _some(self, every: Sequence[Around], number: int) -> list[Around]:
        chosen = self._draw.permutation(len(every))[:number]
        return [every[i] for i in chosen.tolist()]

    def _near(self, gpus: Sequence[Filled]) -> list[Around]:
        """Returns surroundings near those of some GPUs."""
        found = []
        for one in gpus:
            shares = max(1, len(one.shares) + int(self._draw.integers(-1, 2)))
            found.append(self._tables.around(shares, one.asks * self._draw.uniform(0.9, 1.15)))
        return found

    def _fill(self, around: Around, price: Floats, left: np.ndarray, units_cost: float) -> Filled | None:
        noisy = price * (1 + NOISE * self._draw.standard_normal(self._count)).clip(0.5)
        return self._filler.filled(around, noisy, left, units_cost / self._tables.units)

    @staticmethod
    def _worth(gpu: Filled, price: Floats) -> float:
        return float(price[list(gpu.items)].sum())

    def _add(self, gpus: Sequence[Filled]) -> None:
        for one in gpus:
            self._columns.setdefault(one.key, one)

    def _collected(self, price: Floats, until: float) -> Floats:
        """Collects columns until that hardly helps, or half of the time is gone; returns prices."""
        half = monotonic() + 0.5 * (until - monotonic())
        every, costs, known = np.ones(self._count, dtype=np.bool_), list[float](), [len(self._columns)]
        surroundings = self._first_surroundings()
        while monotonic() < half:
            for around in surroundings:
                for cost in UNIT_PRICES:
                    found = self._fill(around, price, every & (price > 0), cost)
                    self._add([found] if found is not None else [])
            solved = self._solved(half)
            if solved is None:
                break
            cost, dual, used = solved
            price = (1 - WAY) * price + WAY * dual
            surroundings = self._near(self._some_used(used))
            costs.append(cost)
            known.append(len(self._columns))
            slow = len(costs) > OVER and cost > costs[-OVER] * (1 - SLOW)
            if slow or (len(known) > IN_VAIN and known[-1] == known[-1 - IN_VAIN]):
                self._is_steady = True
                break
        return price

    def _some_used(self, used: Floats) -> list[Filled]:
        columns, here = list(self._columns.values()), np.flatnonzero(used > 1e-6)
        chosen = self._draw.permutation(here)[:AT_A_TIME]
        return [columns[i] for i in chosen.tolist()]

    def _matrix(self, columns: Sequence[Filled]) -> tuple[Ints, Ints]:
        """Returns rows and columns of the entries: which items each GPU has."""
        items = [one.items for one in columns]
        return np.array([i for one in items for i in one]), np.repeat(
            np.arange(len(items)), [len(one) for one in items]
        )

    def _solved(self, until: float) -> tuple[float, Floats, Floats] | None:
        """Returns GPUs in fractions, prices of items, and how many GPUs are of each column; None: not in time."""
        columns = list(self._columns.values())
        row, column = self._matrix(columns)
        shape = (self._count, len(columns))
        count = np.ones(self._count)
        try:
            found = least_cost(
                np.ones(len(columns)),
                sparse_rows(row, column, np.ones(len(row)), shape),
                count,
                np.full(self._count, inf),
                most=np.full(len(columns), inf),
                time_limit_s=max(until - monotonic(), 0.1),
            )
        except TimeoutError:
            return None
        if found is None:
            return None
        self.in_fractions = found.cost
        return found.cost, np.maximum(found.dual, 0.0), found.x

    def _chosen(self, until: float) -> Plan | None:
        """Returns a plan of the columns; None: none was found in time."""
        solved = self._solved(until)
        if solved is None:
            return None
        columns = list(self._columns.values())
        worth = np.array([self._worth(one, solved[1]) for one in columns]) + (solved[2] > 1e-9)
        kept = np.sort(np.argsort(-worth, kind="stable")[:MOST_CHOSEN_FROM])
        columns = [columns[i] for i in kept.tolist()]
        row, column = self._matrix(columns)
        rows = sparse_rows(row, column, np.ones(len(row)), (self._count, len(columns)))
        every, most = np.ones(self._count), np.ones(len(columns))
        model = mathopt.Model.from_model_proto(
            program_of(rows, every, np.full(self._count, inf), most, name="whole GPUs with rounds")
        )
        variables = list(model.variables())
        model.minimize(mathopt.LinearSum(variables))
        result = run_highs(model, max(until - monotonic(), 0.1), absolute_gap=0.999)
        if not result.has_primal_feasible_solution():
            return None
        values = result.variable_values()
        return self._each_once([one for one, x in zip(columns, variables, strict=True) if values[x] > 0.5])

    def _each_once(self, gpus: Sequence[Filled]) -> Plan | None:
        """Returns GPUs on which each item stands once."""
        placed: set[int] = set()
        plan = []
        for one in gpus:
            if placed.isdisjoint(one.items):
                plan.append(one)
            else:
                left = [tuple(i for i in share.items if i not in placed) for share in one.shares]
                again = fitted(self._tables, [own for own in left if own], one.asks) if any(left) else None
                if again is None and any(left):
                    return None
                plan += [] if again is None else [again]
            placed.update(one.items)
        return plan
