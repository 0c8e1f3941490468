"""
Cells of sets of models on one GPU: sets of n models whose L2 use, all together, is from L0 to L1.

In a cell a model i on u units is disturbed by max(L0 - l_i(u), 0) at least and its kernels wait as among n, so
c_i(u, b), the w_i h_i of that (-inf where a limit is not kept), is an upper bound of what it counts in any set of the
cell. L2 use never falls with units; so halves of a cell have all its sets, and never a higher bound.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...performance.interference.prediction import Floats
from ..decision import ROUNDING
from ..latency import Ints
from .set_values import NEVER, Asked, alone

PARTS = 3
"""Into which the L2 use of sets of n > 1 models is cut at first."""


@dataclass(frozen=True)
class Cell:
    """Sets of `number` models with L2 use from `low` to `high`, percent, and multipliers to begin with."""

    number: int
    low: float
    high: float
    of_l2: float = 0.0
    """What a percent of L2 use is worth; below 0, it costs."""
    of_number: float = 0.0
    """What a model more is worth."""

    def halves(self) -> Iterator["Cell"]:
        """Yields two cells that have all its sets."""
        middle = (self.low + self.high) / 2
        yield replace(self, high=middle)
        yield replace(self, low=middle)


@dataclass(frozen=True, eq=False)
class Members:
    """Who can be in sets on GPUs of one type, and how many together."""

    asked: Asked
    kind: int
    who: Ints
    """Models, ascending; the arrays are of these."""
    l2: Floats
    """Shape (model, units), percent."""
    memory: Floats
    """Shape (model, batch), MiB."""
    room: float
    """Memory of the GPU, MiB."""
    most: int
    """Members of a set."""

    @classmethod
    def of(cls, asked: Asked, kind: int) -> "Members":
        """Finds who can run there at all."""
        tables, own = asked.latencies.types[kind], alone(asked, kind)
        who = np.flatnonzero((own > NEVER).any(axis=1))
        room = asked.latencies.problem.gpus[kind].memory_mib * (1 + ROUNDING)
        memory = asked.memory(who)
        least = np.sort((own[who] > NEVER).argmax(axis=1) + 1)
        most = min(
            int((np.cumsum(one) <= most).sum()) for one, most in ((least, tables.units), (np.sort(memory[:, 0]), room))
        )
        return cls(asked, kind, who, tables.l2[who], memory, room, most)

    def among(self, models: Ints) -> "Members":
        """Returns those who are among these models, which are ascending; sets may have as many members as before."""
        here = np.isin(self.who, models)
        return replace(self, who=self.who[here], l2=self.l2[here], memory=self.memory[here])

    @property
    def units(self) -> int:
        """How many units the GPU has."""
        return int(self.l2.shape[1])

    def cells(self) -> Iterator[Cell]:
        """Yields cells that have all sets in them."""
        if not len(self.who):
            return
        units = np.arange(1, self.units + 1)
        slope = float(np.diff(self.l2, axis=1).max(initial=0.0))
        base = float((self.l2 - slope * units).max())
        first = np.sort(self.l2[:, 0])
        for n in range(1, self.most + 1):
            parts = PARTS if n > 1 else 1
            low, high = float(first[:n].sum()), slope * self.units + n * max(base, 0.0)
            edges = np.linspace(low, max(high, low), parts + 1)
            for part in range(parts):
                yield Cell(n, float(edges[part]) * (1 - ROUNDING), float(edges[part + 1]) * (1 + ROUNDING))

    def worth(self, cell: Cell) -> Floats:
        """Returns c of a cell, shape (model, units, batch)."""
        latencies, who = self.asked.latencies, self.who
        tables = latencies.types[self.kind]
        slower = 1 + latencies.sensitivity[who, None] * np.maximum(cell.low - self.l2, 0.0)
        crowd = tables.crowd[min(cell.number, len(tables.crowd) - 1)]
        fixed = latencies.scheduling[who] + crowd * latencies.kernels[who]
        ms = tables.running[who] * slower[:, :, None] + tables.transfer[who][:, None, :] + fixed[:, None, None]
        ms *= 1 - 1e-12  # sums in another order must not end on the other side of a limit
        room = np.full(len(who), self.room)
        return self.asked.worth_within(who, ms.swapaxes(0, 1), room).swapaxes(0, 1)
