"""
Plans whose GPUs carry about what prices of resources say: every service once, dealt to GPUs of the kinds that pay.

The program over parts of residents (program.py) has its GPUs at points: a number of residents, and what they ask for
together. Were that so of a GPU, each of its residents would carry what it does among so many that ask for so much, and
the best shares are found by a dynamic program (../dealing.py). Services that wait are drawn apart, so that many points
are dealt at once and nobody stands on two GPUs; the contents that are worth almost most are kept, until there are no
more GPUs. Whoever waits then is paid more, as if by bidding (Bertsekas, Annals of Operations Research 14, 1988), and
all is dealt anew. These are plans to choose from: what is proven does not rest on them.
"""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....allocation.allocated import Resident
from ....performance.interference.prediction import Floats, Ints
from ..dealing import dealt
from ..figures import Figures
from ..gpu_contents import Content
from .cells import SharedCells
from .limit import Point

EACH = 12
"""Services, about, from which the content of one GPU is chosen."""

ALMOST = 0.99
"""Part of what the best content is worth at which others dealt at once are kept."""

MORE = 0.06
"""Part of what a GPU is worth by which a service is paid more, for each GPU that its least share is."""

ROUNDS = 60
"""Of dealing, at most."""

NOTHING = -1e12
"""What somebody is worth who may not be there."""


@dataclass(frozen=True, eq=False)
class Dealt:
    """Contents of a round, the most valuable first, and who is on no GPU, shape (workload,)."""

    contents: tuple[Content, ...]
    waiting: np.ndarray
    lacks: float
    """GPUs that those who wait need, by their least shares."""


@dataclass(frozen=True, eq=False)
class _Table:
    """What services are at a point, shape (workload, unit + 1) each."""

    point: Point
    worth: Floats
    """What they count, less what they ask for in channels costs."""
    batch: Ints
    """With the batch size that is worth most."""


class Dealer:
    """Deals services to the GPUs that there are, again and again."""

    def __init__(
        self,
        fleet: Sequence[SharedCells],
        points: Sequence[Point],
        gpus: Mapping[str, int],
        weights: Floats,
        charge: Floats,
        worth: float,
    ) -> None:
        """
        Takes prices to begin with.

        Parameters
        ----------
        gpus
            GPU type -> how many there are.
        weights, charge
            Shape (workload,): what a request/s counts, and what a resident costs.
        worth
            What a GPU is worth at these.
        """
        self._figures = [own.figures for own in fleet]
        self._gpus = [gpus[own.figures.mps.gpu] for own in fleet]
        self._tables = [_table(fleet[one.of_type], one, len(weights)) for one in points]
        self._weights, self._charge, self._worth = weights, charge.copy(), worth
        self._size = np.ones(len(weights))
        for figures in self._figures:
            choices = figures.choices
            np.minimum.at(self._size, choices.workload, choices.units / figures.mps.capacity_units)
        self._draw = random.Random(0)

    def rounds(self, deadline: float) -> Iterator[Dealt]:
        """Yields rounds until everybody is on a GPU, or `deadline`."""
        for _ in range(ROUNDS if self._tables else 0):
            found = self._round(deadline)
            if found is None:
                return
            yield found
            if not found.waiting.any():
                return
            self._charge = self._charge - MORE * self._worth * np.where(found.waiting, self._size, 0.0)

    def _round(self, deadline: float) -> Dealt | None:
        """Deals all services once; None: there is no time."""
        waiting = np.ones(len(self._weights), dtype=np.bool_)
        left = list(self._gpus)
        found: list[tuple[float, Content]] = []
        while waiting.any() and any(left):
            if time.monotonic() >= deadline:
                return None
            tables = self._drawn([one for one in self._tables if left[one.point.of_type]], int(waiting.sum()))
            if not tables:
                break
            dealt_now = sorted(self._dealt(tables, waiting), key=lambda one: -one[0])
            if not dealt_now:
                break
            for worth, of_type, content in dealt_now:
                if worth < ALMOST * dealt_now[0][0]:
                    break
                if left[of_type]:
                    left[of_type] -= 1
                    found.append((worth, content))
                    waiting[list(content.gpu.workloads)] = False
        found.sort(key=lambda one: -one[0])
        return Dealt(tuple(content for _, content in found), waiting, float(self._size[waiting].sum()))

    def _drawn(self, tables: Sequence[_Table], services: int) -> list[_Table]:
        """Returns points for so many services, those of many GPUs more often."""
        number = max(1, services // EACH)
        if number >= len(tables):
            return list(tables)
        # Each as often as it has GPUs, none twice.
        order = sorted(tables, key=lambda one: -(self._draw.random() ** (1 / one.point.gpus)))
        return order[:number]

    def _dealt(self, tables: Sequence[_Table], waiting: np.ndarray) -> Iterator[tuple[float, int, Content]]:
        """Yields contents of services that wait, no two of the same ones: what each is worth, and its type."""
        order = np.flatnonzero(waiting).tolist()
        self._draw.shuffle(order)
        parts = [np.array(order[i :: len(tables)], dtype=np.int64) for i in range(len(tables))]
        for i, figures in enumerate(self._figures):
            own = [(one, part) for one, part in zip(tables, parts, strict=True) if one.point.of_type == i and len(part)]
            if not own:
                continue
            width = max(len(part) for _, part in own)
            worth = np.zeros((len(own), width, figures.mps.capacity_units + 1))
            for row, (one, part) in enumerate(own):
                worth[row, : len(part)] = np.maximum(one.worth[part] - self._charge[part, None], 0.0)
            residents = np.array([one.point.residents for one, _ in own], dtype=np.int64)
            nobody, once = np.zeros(worth.shape[:2], dtype=np.bool_), np.ones(width, dtype=np.bool_)
            placed = dealt(worth, once, residents, nobody, np.zeros(len(own))).placed
            sets = [
                [_resident(figures, one, int(part[at]), units) for at, units in residents_of]
                for (one, part), residents_of in zip(own, placed, strict=True)
            ]
            for content in figures.contents(sets):
                if content is not None:
                    yield content.worth(figures.counted, self._weights, self._charge), i, content


def _resident(figures: Figures, table: _Table, workload: int, units: int) -> Resident:
    return Resident(workload, int(table.batch[workload, units]), figures.mps.percent_of(units))


def _table(own: SharedCells, point: Point, workloads: int) -> _Table:
    """Returns what services carry at a point, each all of its rate."""
    mps = own.figures.mps
    worth = np.full((workloads, mps.capacity_units + 1), NOTHING)
    batch = np.ones(worth.shape, dtype=np.int64)
    for alike in own.alike:
        choices, members = alike.choices, alike.members
        totals = tuple(np.maximum(total, asked) for total, asked in zip(point.totals, choices.demands, strict=True))
        latency, carried = mps.model.among(
            choices.workload,
            choices.batch,
            mps.percent(choices.units),
            totals=totals,
            residents=np.array(point.residents),
        )
        cost = sum((price * asked for price, asked in zip(point.prices, choices.demands, strict=True)), np.zeros(1))
        there = (latency <= alike.limit_ms[:, None]) & (carried >= alike.rate_rps[:, None])
        sizes = mps.batches[int(members[0])]
        value = np.where(there, alike.weight * carried - cost, NOTHING).reshape(len(members), -1, len(sizes))
        worth[members[:, None], mps.shares] = value.max(axis=2)
        batch[members[:, None], mps.shares] = sizes[value.argmax(axis=2)]
    return _Table(point, worth, batch)
