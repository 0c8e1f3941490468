"""
Prices of the resources of GPUs under MPS that prove little more than the best plan has.

The program over parts of residents (program.py) gives prices, at which more residents may gain, until hardly any does.
Then the cells in which it has GPUs are divided: within a cell residents carry what they do where least is asked for,
and ask for up to the most. What the prices so far prove (prices.py) is kept where it is least.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....performance.interference.prediction import Floats, Ints
from .alike import Alike
from .cells import Entries, SharedCells
from .prices import Proven, proven_by
from .program import Columns, Solved, solved

STANDING = 60
"""Services that stand for all, about."""

MORE = 8
"""Cells of which columns join for each of them in one round, at most."""

ENOUGH = 6e-4
"""Part of the program's value that may still be gained by columns when cells are divided."""

WAYS = (1.0, 0.7, 0.45, 0.25, 0.12, 0.05)
"""Parts of the way to the program's prices that are tried."""

NEAR = 2
"""Cells of which columns join for each service at the best of these prices."""

ROUNDS = 30
"""Rounds between two divisions, at most."""

KEPT = 0.012
"""Part of what a GPU is worth by which a column may gain less than the best and be kept when cells are divided."""

SOME = 1e-6
"""Part of a GPU that counts as one in a cell."""

MOST_DIVISIONS = 1000

FLAT, FALL = 3, 1e-3
"""Divisions without a fall by such a part of the limit after which there are no more."""

POINTS = 60
"""Cells whose contents are told, those of most GPUs."""

LONGER = 1.5
"""Times as long as the last round took that is left for another."""


@dataclass(frozen=True, eq=False)
class Standing:
    """A service that stands for others that are alike."""

    workload: int
    services: tuple[int, ...]
    """For whom it stands, itself included."""
    places: tuple[tuple[int, int, int], ...]
    """GPU type, which of those that are alike there, and which of their members it is."""


@dataclass(frozen=True, eq=False)
class Point:
    """Contents of which the program has many: so many residents, that ask for so much together."""

    of_type: int
    gpus: float
    """How many it has."""
    residents: int
    totals: Floats
    """Shape (channel,)."""
    prices: Floats
    """Of what is asked for in each channel, shape (channel,)."""


class ResourcePrices:
    """Prices of resources, and columns, as they are found; and what the prices prove that prove least."""

    def __init__(
        self,
        fleet: Sequence[SharedCells],
        once: np.ndarray,
        gpus: Mapping[str, int],
        limit_of: Callable[[Proven], float],
    ) -> None:
        """
        Begins with prices of units alone.

        Parameters
        ----------
        fleet
            All types of GPUs, whose cells are divided.
        once
            Shape (workload,): whether it may have one replica only.
        limit_of
            What no plan exceeds by what prices prove.
        """
        self._fleet, self._once, self._limit_of = fleet, once, limit_of
        self._gpus = np.array([float(gpus[own.figures.mps.gpu]) for own in fleet])
        self._standing = _standing(fleet, once)
        self._number = np.array([float(len(one.services)) for one in self._standing])
        self._single = np.array([bool(once[one.workload]) for one in self._standing])
        self._paid = np.zeros(len(self._standing))
        """Of a resident of those with one replica, of a request/s of the others: what the program pays."""
        top = max(
            (float((a.weight * e.carried_rps).max(initial=0.0)) for own in fleet for a, e in _pairs(own)), default=0
        )
        self._resources = [np.zeros(own.has.shape) for own in fleet]
        for own, prices in zip(fleet, self._resources, strict=True):
            prices[:, 0] = top / own.figures.mps.capacity_units
        self._rows_of: dict[tuple[int, int], Ints] = {}
        self._columns = Columns.joined(self._found(np.full(len(self._standing), -np.inf), None)[0])
        self._solved: Solved | None = None
        self._of_solved: Columns | None = None
        self._solved_at: list[tuple[Floats, int]] = []
        """What the program was solved for: prices that prove least, and the number of cells, of each type."""
        self._centre = self._near = self._resources.copy()
        """The prices that prove least, and those on the way to the program's last ones that do."""
        self.best = proven_by(fleet, self._resources, once)
        self._least = limit_of(self.best)

    def improve(self, deadline: float, divisions: int = MOST_DIVISIONS) -> None:
        """Looks for prices that prove less until `deadline`, with so many divisions of cells at most."""
        flat = 0
        for _ in range(divisions + 1):
            before = self._least
            if not self._settled(deadline) or not self._divide():
                break
            flat = 0 if self._least < before * (1 - FALL) else flat + 1
            if flat > FLAT:
                break

    def points(self) -> list[Point]:
        """Returns where the program has most GPUs."""
        answer, columns = self._solved, self._of_solved
        if answer is None or columns is None:
            return []
        found = []
        at = 0
        for i, (resources, cells) in enumerate(self._solved_at):
            for k in np.flatnonzero(answer.gpus[at : at + cells] > SOME).tolist():
                own = columns.cell == at + k
                number = answer.gpus[at + k]
                asked = (columns.asked[own] * answer.taken[own, None]).sum(axis=0) / number
                found.append(Point(i, float(number), max(round(float(asked[1])), 1), asked[2:], resources[k, 2:]))
            at += cells
        return sorted(found, key=lambda one: -one.gpus)[:POINTS]

    def _settled(self, deadline: float) -> bool:
        """Lets columns join until hardly any gains; False: there is no time, or the program has no solution."""
        longest, before = 0.0, -np.inf
        for _ in range(ROUNDS):
            begun = time.monotonic()
            if begun + LONGER * longest >= deadline:
                return False
            answer = self._solve()
            if answer is None:
                return False
            self._solved, self._of_solved = answer, self._columns
            self._solved_at = [(own, len(own)) for own in self._centre]
            new, gained = self._found(self._pays(answer), MORE)
            new += self._best_near()
            if not new or min(gained, answer.value - before) <= ENOUGH * abs(answer.value):
                return True
            before = answer.value
            self._columns = Columns.joined([self._columns, *new])
            longest = max(longest, time.monotonic() - begun)
        return True

    def _solve(self) -> Solved | None:
        """Solves the program, and goes as far towards its prices as what they prove becomes less."""
        has = np.concatenate([own.has for own in self._fleet])
        of_type = np.repeat(np.arange(len(self._fleet)), [len(own.cells) for own in self._fleet])
        answer = solved(self._columns, self._number, self._single, has, of_type, self._gpus)
        if answer is None:
            return None
        at = 0
        for i, own in enumerate(self._fleet):
            found = answer.resources[at : at + len(own.cells)]
            at += len(own.cells)
            self._resources[i] = _up_to(
                np.where(np.isnan(found), self._centre[i], found), own.has, float(answer.of_gpu[i])
            )
        tried = [
            [(1 - way) * own + way * there for own, there in zip(self._centre, self._resources, strict=True)]
            for way in WAYS
        ]
        proven = [proven_by(self._fleet, prices, self._once) for prices in tried]
        limits = [self._limit_of(one) for one in proven]
        least = int(np.argmin(limits))
        self._near = tried[least]
        if limits[least] < self._least:
            self._least, self.best, self._centre = limits[least], proven[least], tried[least]
        return answer

    def _pays(self, answer: Solved) -> Floats:
        """Returns what a resident has to gain to be new, shape (standing,), and notes what rates are paid."""
        rate = np.array([self._rate(one) for one in self._standing])
        self._paid = np.where(self._single, 0.0, -answer.of_standing / rate)
        return np.where(self._single, answer.of_standing, 0.0)

    def _rate(self, one: Standing) -> float:
        i, j, member = one.places[0]
        return float(self._fleet[i].alike[j].rate_rps[member])

    def _found(self, least: Floats, most: int | None) -> tuple[list[Columns], float]:
        """Returns columns that gain more than `least`, of so many cells for each service, and what all gain more."""
        offsets = np.cumsum([0, *(len(own.cells) for own in self._fleet)]).tolist()
        first_alike = np.cumsum([0, *(len(own.alike) for own in self._fleet)]).tolist()
        gains = {
            (i, j): alike.weight * entries.carried_rps - entries.cost(self._resources[i])
            for i, own in enumerate(self._fleet)
            for j, (alike, entries) in enumerate(_pairs(own))
        }
        found, gained = [], 0.0
        for s, one in enumerate(self._standing):
            for i, j, member in one.places:
                alike, entries = self._fleet[i].alike[j], self._fleet[i].entries[j]
                rows = self._may_be(s, i, j, member)
                gain = gains[i, j][rows]
                if self._paid[s]:
                    gain += self._paid[s] * np.minimum(entries.carried_rps[rows], alike.rate_rps[member])
                rows, gain = _best_of_cells(entries.cell[rows], rows, gain)
                more = np.flatnonzero(gain > least[s])
                if most is not None:
                    more = more[np.argsort(-gain[more])[:most]]
                    gained += float((gain[more[:1]] - least[s]).sum()) * len(one.services)
                if len(more):
                    found.append(self._column(s, i, j, member, rows[more], offsets[i], first_alike[i]))
        return found, gained

    def _best_near(self) -> list[Columns]:
        """Returns the best column of each service at prices that prove less than the program's own."""
        own, self._resources = self._resources, self._near
        found, _ = self._found(np.full(len(self._standing), -np.inf), NEAR)
        self._resources = own
        return found

    def _may_be(self, s: int, i: int, j: int, member: int) -> Ints:
        """Returns the entries that a service may be, which do not depend on prices."""
        if (s, i) not in self._rows_of:
            found = self._fleet[i].entries[j].of(self._fleet[i].alike[j], member, once=bool(self._single[s]))
            self._rows_of[s, i] = found
        return self._rows_of[s, i]

    def _column(self, s: int, i: int, j: int, member: int, rows: Ints, offset: int, first_alike: int) -> Columns:
        """Returns the columns of some entries for one that stands for others."""
        alike, entries = self._fleet[i].alike[j], self._fleet[i].entries[j]
        carried, rate = entries.carried_rps[rows], alike.rate_rps[member]
        part = np.ones(len(rows)) if self._single[s] else np.minimum(carried, rate) / rate
        return Columns(
            np.full(len(rows), s),
            entries.cell[rows] + offset,
            np.full(len(rows), first_alike + j),
            entries.choice[rows],
            alike.weight * carried,
            part,
            entries.asked(rows),
        )

    def _divide(self) -> bool:
        """Divides the cells in which the program has GPUs; False: none can be divided."""
        answer, columns = self._solved, self._columns
        assert answer is not None
        before = [len(own.cells) for own in self._fleet]
        offsets = np.cumsum([0, *before]).tolist()
        # What a resident gains, less what it has to: of those that are kept little below 0.
        prices = np.concatenate(self._resources)
        gain = columns.counted - (columns.asked * prices[columns.cell]).sum(axis=1)
        gain -= answer.of_standing[columns.standing] * columns.part
        of_type = np.searchsorted(offsets, columns.cell, side="right") - 1
        near = columns.of((gain >= -KEPT * answer.of_gpu[of_type]) | (answer.taken > 0))
        self._rows_of = {}
        is_divided = False
        parts: list[Columns] = []
        for i, own in enumerate(self._fleet):
            some = np.flatnonzero(answer.gpus[offsets[i] : offsets[i + 1]] > SOME).tolist()
            cells, was = own.parts(some)
            is_divided |= len(cells) > before[i]
            had = own.has
            own.take(cells)
            self._resources[i] = _up_to(self._resources[i][was], own.has, float(answer.of_gpu[i]))
            worth = float((had * self._centre[i]).sum(axis=1).max(initial=0.0))
            self._centre[i] = _up_to(self._centre[i][was], own.has, worth)
            parts += self._moved(i, near, was, offsets[i], offsets[i + 1])
        if is_divided:
            self._columns = Columns.joined(parts)
        return is_divided

    def _moved(self, i: int, columns: Columns, was: Ints, first: int, last: int) -> list[Columns]:
        """Returns the columns of a type in the cells that its were divided into."""
        own = self._fleet[i]
        offset = sum(len(one.cells) for one in self._fleet[:i])
        first_alike = sum(len(one.alike) for one in self._fleet[:i])
        found = []
        for s, one in enumerate(self._standing):
            for place, j, member in one.places:
                if place != i:
                    continue
                alike, entries = own.alike[j], own.entries[j]
                mine = np.flatnonzero((columns.standing == s) & (columns.cell >= first) & (columns.cell < last))
                wanted = _pairs_in_parts(columns.cell[mine] - first, columns.choice[mine], was)
                rows = _rows(entries, len(alike.choices), *wanted)
                there = entries.latency_ms[rows] <= alike.limit_ms[member]
                if self._single[s]:
                    there &= entries.carried_rps[rows] >= alike.rate_rps[member]
                found.append(self._column(s, i, j, member, rows[there], offset, first_alike))
        return found


def _pairs(own: SharedCells) -> list[tuple[Alike, Entries]]:
    return list(zip(own.alike, own.entries, strict=True))


def _best_of_cells(cell: Ints, rows: Ints, gain: Floats) -> tuple[Ints, Floats]:
    """Returns the row that gains most of each cell, and what it gains; cells ascend."""
    if not len(cell):
        return rows, gain
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    most = np.maximum.reduceat(gain, first)
    hits = np.flatnonzero(gain >= np.repeat(most, np.diff(np.append(first, len(cell)))))
    _, one = np.unique(cell[hits], return_index=True)
    return rows[hits[one]], most


def _pairs_in_parts(cell: Ints, choice: Ints, was: Ints) -> tuple[Ints, Ints]:
    """Returns the cells and choices of columns in all cells that theirs became; `was`, shape (cell,): ascending."""
    first, last = np.searchsorted(was, cell, side="left"), np.searchsorted(was, cell, side="right")
    number = last - first
    column = np.repeat(np.arange(len(cell)), number)
    inside = np.arange(int(number.sum())) - np.repeat(np.cumsum(number) - number, number)
    return first[column] + inside, choice[column]


def _rows(entries: Entries, choices: int, cell: Ints, choice: Ints) -> Ints:
    """Returns the entries of cells and choices, of those that there are."""
    keys = entries.cell * choices + entries.choice
    wanted = cell * choices + choice
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.asarray(at[keys[at] == wanted] if len(keys) else np.zeros(0, dtype=np.int64))


def _up_to(prices: Floats, has: Floats, worth: float) -> Floats:
    """Returns prices raised so that what a GPU has costs so much at least: that only lowers what residents gain."""
    cost = (prices * has).sum(axis=1)
    factor = np.where(cost > 0, worth / np.where(cost > 0, cost, 1.0), 1.0)
    found = prices * np.maximum(factor, 1.0)[:, None]
    found[cost <= 0, 0] = worth / has[cost <= 0, 0]
    return np.asarray(found)


def _standing(fleet: Sequence[SharedCells], once: np.ndarray) -> list[Standing]:
    """Returns services that stand for all that may be on some GPU, those of about the same rate for one another."""
    places: dict[int, list[tuple[int, int, int]]] = {}
    for i, own in enumerate(fleet):
        for j, alike in enumerate(own.alike):
            for member, w in enumerate(alike.members.tolist()):
                places.setdefault(w, []).append((i, j, member))
    together: dict[tuple[object, ...], list[tuple[float, int]]] = {}
    for w, own_places in places.items():
        i, j, member = own_places[0]
        key = (bool(once[w]), *((i, j) for i, j, _ in own_places))
        together.setdefault(key, []).append((float(fleet[i].alike[j].rate_rps[member]), w))
    each = max(1, len(places) // STANDING)
    found = []
    for some in together.values():
        order = [w for _, w in sorted(some)]
        for at in range(0, len(order), each):
            those = order[at : at + each]
            middle = those[len(those) // 2]
            found.append(Standing(middle, tuple(those), tuple(places[middle])))
    return found
