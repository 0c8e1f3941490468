"""
Most capacity where models are too many for all their sets: a decision, and a limit that no decision exceeds.

    max sum of v(g, S) z(g, S),   each model in exactly one chosen set,   at most N_g sets on GPUs of type g

For any prices pi, of any sign, no decision has more than

    sum of pi_i + sum over g of N_g V_g,        V_g >= max(0, max over S of v(g, S) - sum over S of pi_i)

as each model is in one set, and a GPU is worth V_g at most beyond its models' prices (set_prices.py). The first prices
are those of parts of cells of sets (cell_prices.py), which prove a limit of their own. Further ones are those of the
linear program over the sets that are known; they move a part of the way from the most promising ones. What is
promising: the same sum with the known sets' V_g, which may be too low to be a limit. The last question is asked there,
and longer.

That no decision keeps all limits is said where a model has no number of units that is enough, or where the least
numbers are more than there are; elsewhere nothing is proven if none was found.

The first decision places models by what they would take at the first prices, and then moves
them (good_sets.py), longer where some set stays impossible. Another begins with the sets of the linear program.
"""

from collections.abc import Sequence
from math import inf

import numpy as np

from ...performance.interference.prediction import Floats
from ...runtime.progress import report
from ..decision import Decision
from ..latency import Ints, Latencies
from .cell_prices import prices_in_cells
from .effort import Effort, IsOver
from .good_sets import GoodSets, Key, Placing
from .partition import Exact
from .set_prices import SetPrices
from .set_program import SetProgram
from .set_values import NEVER, Asked, alone
from .unit_prices import first_members, scale_of, unit_prices, wishes

SEED = 1
IN_CELLS, MOVED, PRICED, MIXED = 0.3, 0.5, 0.65, 0.98
"""When the first prices, the first decision, all prices and the second decision end, as parts of the time."""

MANY = 400
"""Models from which on no further prices are asked for: what sets of so many are worth takes longer than it tells."""

ROUNDS, LAST_ROUNDS = 2, 9
"""How often cells are halved, and at the prices that are kept."""

WAY = 0.4
"""Part of the way from the most promising prices to those of the linear program."""

PLACES = 40
"""GPUs on which a model that is left is tried."""

COLUMNS, MIXED_SETS = 8_000, 3_000
"""Sets in the linear program, and in that of whole sets: those that are worth most at the prices."""

WHOLE = 0.15
"""Part of the time for whole sets of the program."""

MOST_WHOLE_S = 10.0
"""Nobody can interrupt it."""


def by_columns(
    latencies: Latencies, rates_rps: Floats, effort: Effort, *, weights: Floats | None = None, spare: float = 1.0
) -> Exact | None:
    """
    Returns the best decision that was found, if any, and a limit that holds for all; None: proven, there is none.

    Parameters
    ----------
    rates_rps, weights
        Shape (model,); weights above 0, default 1 each.
    spare
        Capacity is at least so many times each rate.
    """
    in_cells, moved, priced, mixed, ended = effort.parts(IN_CELLS, MOVED, PRICED, MIXED, 1.0)
    count = len(rates_rps)
    asked = Asked(latencies, rates_rps, np.ones(count) if weights is None else weights, spare)
    search = _Search(asked, effort.seconds)
    if search.is_hopeless:
        return None
    search.price_in_cells(in_cells)
    best = first = search.placed()
    first.improve(effort.tries, moved if count <= MANY else ended)
    if first.value == NEVER:  # some decision is worth more than prices
        first.improve(effort.tries, mixed)
    for _ in range(effort.turns if count <= MANY else 0):
        if priced() or not search.price(priced):
            break
    if not mixed():
        second = search.mixed(mixed, min(WHOLE * effort.seconds, MOST_WHOLE_S))
        second.improve(effort.tries, mixed)
        best = max(first, second, key=lambda one: one.value)
    search.sharpen(ended)
    if best.value == NEVER:
        return Exact(NEVER, None, search.limit)
    return Exact(best.value, search.decision(best), max(search.limit, best.value))


class _Search:
    """Sets, prices and the least limit, as they are found."""

    def __init__(self, asked: Asked, seconds: float) -> None:
        """`seconds`: for prices of units."""
        kinds = asked.latencies.type_of_gpu
        self._asked, self._kinds = asked, kinds
        self._counts = np.bincount(kinds, minlength=len(asked.latencies.types))
        self._questions = [SetPrices(asked, kind) for kind in range(len(self._counts))]
        self._own = [alone(asked, kind) for kind in range(len(self._counts))]
        self._sets = GoodSets(asked, [one.members.most for one in self._questions])
        self._draw = np.random.default_rng(SEED)
        self._by_unit, self._prices, self.limit = unit_prices(self._own, self._counts, seconds)
        self._worth, self._wish = wishes(self._own, self._by_unit)
        self._likely = inf
        self._shares: dict[Key, float] = {}

    @property
    def is_hopeless(self) -> bool:
        """Whether the least units that models need, alone and on the type where they are least, are too many."""
        least = [np.where((own > NEVER).any(axis=1), (own > NEVER).argmax(axis=1) + 1.0, inf) for own in self._own]
        units = np.array([own.shape[1] for own in self._own])
        return float(np.min(least, axis=0).sum()) > float(units @ self._counts)

    def placed(self) -> Placing:
        """Returns a first placement, in which some sets may be impossible, fewest of those by either prices."""
        found = []
        for worth, wish in ((self._worth, self._wish), wishes(self._own, self._by_unit)):
            members = first_members(self._asked, self._own, self._by_unit, worth, wish)
            found.append(Placing(self._sets, self._kinds, members, self._draw, self._prices))
        return max(found, key=lambda one: (-len(one.impossible()), one.value))

    def price_in_cells(self, is_over: IsOver) -> None:
        """Takes the prices of parts of cells: a limit, and where the questions begin."""
        members = [one.members for one in self._questions]
        found = prices_in_cells(members, self._counts, self._by_unit, self._prices, is_over)
        if found is None:
            return
        if found.limit < self.limit:
            self.limit, self._prices = found.limit, found.prices
        self._worth, self._wish = found.worth, found.units
        for question, cells in zip(self._questions, found.cells, strict=True):
            question.cells = cells

    def price(self, is_over: IsOver) -> bool:
        """Asks what sets are worth at better prices; False: there are none."""
        before, known = self._likely, len(self._sets.known)
        if before == inf:
            self._ask(self._prices, 1, is_over)
            return True
        goal = self._solved()
        if goal is None:
            return False
        self._ask(self._prices + WAY * (goal - self._prices), ROUNDS, is_over)
        return self._likely < before or len(self._sets.known) > known

    def sharpen(self, is_over: IsOver) -> None:
        """Asks again and longer at the most promising prices."""
        self._ask(self._prices, LAST_ROUNDS, is_over)

    def _ask(self, prices: Floats, rounds: int, is_over: IsOver) -> None:
        """Asks what a set is worth at prices: a limit, and sets; nothing follows where time ends before all bounds."""
        limit = likely = float(prices.sum())
        for kind, question in enumerate(self._questions):
            found = question.priced(prices, self._most(kind, prices), rounds=rounds, is_over=is_over)
            if found is None:
                return
            for chosen in found.sets:
                self._sets.learn(kind, chosen)
            limit += float(self._counts[kind]) * found.bound
            likely += float(self._counts[kind]) * self._most(kind, prices)
        self.limit = min(self.limit, limit + 1e-9 * float(np.abs(prices).sum()))
        if likely < self._likely:
            self._likely, self._prices = likely, prices
        report(f"sets of models: {len(self._sets.known):,}; at most {self.limit:,.0f} requests/s")

    def _most(self, kind: int, prices: Floats) -> float:
        """Returns the most that a known set is worth at prices, at least 0."""
        worths = (
            one.value - sum(prices[i] for i in who)
            for (own, who), one in self._sets.known.items()
            if own == kind and one.value > NEVER
        )
        return max(worths, default=0.0)

    def _solved(self) -> Floats | None:
        """Returns the models' prices in the linear program over known sets, and keeps its solution."""
        program = self._program(COLUMNS)
        if program is None:
            return None
        keys, found = program.keys, program.solved()
        if found.x is None:
            return None
        self._shares = dict(zip(keys, found.x[: len(keys)].tolist(), strict=True))
        prices: Floats = -np.asarray(found.eqlin.marginals) * program.scale
        return prices

    def mixed(self, is_over: IsOver, seconds: float) -> Placing:
        """
        Returns a placement of whole sets of the linear program; who is left goes where most is gained.

        They are those that the program uses most, or the best ones as far as these are found in so many seconds,
        whichever are worth more. When time is over models go anywhere.
        """
        used = [key for key, share in sorted(self._shares.items(), key=lambda one: -one[1]) if share > 0]
        placed = self._placed(used, is_over)
        program = self._program(MIXED_SETS) if seconds > 0 and not is_over() else None
        whole = program.whole(seconds) if program is not None else []
        return max(placed, self._placed(whole, is_over), key=lambda one: one.value) if whole else placed

    def _placed(self, keys: Sequence[Key], is_over: IsOver) -> Placing:
        members = [frozenset[int]() for _ in self._kinds]
        free = {kind: [k for k, own in enumerate(self._kinds) if own == kind] for kind in set(self._kinds)}
        left = set(range(len(self._asked.rates_rps)))
        for kind, who in keys:
            if free[kind] and left >= set(who):
                members[free[kind].pop(0)] = frozenset(who)
                left -= set(who)
        for i in sorted(left, key=lambda one: -self._prices[one]):
            place = int(self._draw.integers(len(members))) if is_over() else self._best_place(members, i)
            members[place] |= {i}
        return Placing(self._sets, self._kinds, members, self._draw, self._prices)

    def _program(self, most: int) -> SetProgram | None:
        """Returns the program over so many of the known sets at most, those that are worth most at the prices."""
        known = [(key, one.value) for key, one in self._sets.known.items() if key[1] and one.value > NEVER]
        if not known:
            return None
        known.sort(key=lambda one: sum(self._prices[i] for i in one[0][1]) - one[1])
        keys, values = zip(*known[:most], strict=True)
        return SetProgram(keys, np.array(values), len(self._asked.rates_rps), self._counts, scale_of(self._own))

    def _best_place(self, members: Sequence[frozenset[int]], model: int) -> int:
        tried = list(range(len(members)))
        if len(tried) > PLACES:
            tried = sorted(self._draw.choice(len(members), PLACES, replace=False).tolist())
        return max(tried, key=lambda k: self._gain(self._kinds[k], members[k], model))

    def _gain(self, kind: int, who: frozenset[int], model: int) -> float:
        after = self._sets(kind, who | {model}).value
        return NEVER if after == NEVER else after - self._sets(kind, who).value

    def decision(self, placing: Placing) -> Decision:
        """Returns GPU, units and batch of each model."""
        gpu, units, batch = np.full((3, len(self._asked.rates_rps)), -1, dtype=np.int64)
        for k, (kind, who) in enumerate(zip(self._kinds, placing.members, strict=True)):
            if who:
                models: Ints = np.array(sorted(who))
                best = self._sets(kind, who)
                gpu[models], units[models], batch[models] = k, best.units, best.batch
        return Decision(gpu, units, batch)
