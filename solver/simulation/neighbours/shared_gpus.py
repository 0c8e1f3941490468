"""
Queues of residents of the same GPUs: advanced event by event, in step over GPUs and replications.

An event of a GPU is a batch that ends or one that starts. Between two events nobody's neighbours change, and a batch
goes on at 1 / p of the pace it has beside all of them busy, where p is its part of that time beside those that are
(paces.py). So what is left of each batch falls evenly, and the next event of a GPU is the first end, at these paces, or
the first start of one that rests. A step carries out the next event of every GPU in every replication; whoever ends a
batch while others wait starts the next one in the same step. Requests are known ahead (dispatch/dealing.py), so nothing
else of a GPU depends on another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ..queues import Queues
from .paces import Residents

BITS = 48
"""Of a set of residents; more a GPU never has (model/hardware.py)."""

MOST_GPUS = 1 << (63 - BITS)
"""Of which sets are told apart in 63 bits."""


@dataclass(eq=False)
class PartTable:
    """Parts of the time of each resident beside each set of busy ones, found when they are asked for."""

    residents: Sequence[Residents]
    width: int
    """Most partitions of any of the GPUs."""
    _codes: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _parts: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def parts(self, gpu: Ints, busy: np.ndarray) -> Floats:
        """Returns the parts, shape (group, partition), of GPUs, shape (group,), with busy ones, (group, partition)."""
        codes = (gpu << BITS) | (busy @ (1 << np.arange(self.width, dtype=np.int64)))
        place = np.searchsorted(self._codes, codes)
        inside = np.minimum(place, max(len(self._codes) - 1, 0))
        if not len(self._codes) or (self._codes[inside] != codes).any():
            self._learn(np.setdiff1d(codes, self._codes))
            inside = np.searchsorted(self._codes, codes)
        parts: Floats = self._parts[inside]
        return parts

    def _learn(self, codes: Ints) -> None:
        new = np.ones((len(codes), self.width))
        owner = codes >> BITS
        for gpu in np.unique(owner).tolist():
            own = np.flatnonzero(owner == gpu)
            one = self.residents[gpu]
            bits = (codes[own][:, None] >> np.arange(len(one.batch))) & 1
            new[own, : len(one.batch)] = one.parts(bits > 0)
        codes = np.concatenate([self._codes, codes])
        parts = np.concatenate([self._parts.reshape(-1, self.width), new])
        order = np.argsort(codes)
        self._codes, self._parts = codes[order], parts[order]


def advance_beside_neighbours(
    queues: Queues, gpus: Sequence[str], partitions: Ints, groups: Ints, residents: Mapping[str, Residents]
) -> None:
    """
    Sends all batches of the queues on shared GPUs, whose ends depend on who else executes.

    Parameters
    ----------
    gpus, partitions, groups
        Of each queue: the GPU's id, its partition's number, and which replication it is of; groups of one replication
        and one GPU have at most one queue a partition, of one process each.
    """
    names = sorted(residents)
    index = {name: i for i, name in enumerate(names)}
    ours = np.array([q for q, name in enumerate(gpus) if name in index], dtype=np.int64)
    if not ours.size:
        return
    of_gpu = np.array([index[gpus[q]] for q in ours.tolist()], dtype=np.int64)
    keys, group = np.unique(groups[ours] * len(names) + of_gpu, return_inverse=True)
    width = max(len(residents[name].batch) for name in names)
    queue = np.full((len(keys), width), -1)
    queue[group, partitions[ours]] = ours
    gpu = keys % len(names)
    table = PartTable([residents[name] for name in names], width)
    _advance(queues, queue, gpu, table)


def _advance(queues: Queues, queue: Ints, gpu: Ints, table: PartTable) -> None:
    """Carries out all events; `queue`: shape (group, partition), -1: none; `gpu`: shape (group,)."""
    event = np.full(queue.shape, inf)
    group, column = np.nonzero(queue >= 0)
    event[group, column] = _next_starts(queues, queue[group, column])
    busy = np.zeros(queue.shape, dtype=bool)
    left = np.zeros(queue.shape)
    part = np.ones(queue.shape)
    now = np.zeros(len(queue))
    while True:
        at = event.min(axis=1)
        goes_on = at < inf
        if not goes_on.all():
            if not goes_on.any():
                return
            event, busy, left, part = event[goes_on], busy[goes_on], left[goes_on], part[goes_on]
            now, queue, gpu, at = now[goes_on], queue[goes_on], gpu[goes_on], at[goes_on]
        left -= np.where(busy, (at - now)[:, None] / part, 0.0)
        now = at
        due = event <= at[:, None]
        group, column = np.nonzero(due & busy)
        if group.size:
            own = queue[group, column]
            queues.complete(own, at[group])
            busy[group, column] = False
            event[group, column] = _next_starts(queues, own)
            due = event <= at[:, None]
        group, column = np.nonzero(due & ~busy)
        if group.size:
            own = queue[group, column]
            left[group, column] = queues.send(own, np.zeros(len(own), dtype=np.int64), at[group])
            busy[group, column] = True
        part = table.parts(gpu, busy)
        event = np.where(busy, at[:, None] + np.maximum(left, 0.0) * part, event)


def _next_starts(queues: Queues, among: Ints) -> Floats:
    """Returns when the next batch of each starts; inf: never."""
    start = np.full(len(among), inf)
    waits = queues.head[among] < queues.known[among]
    start[waits] = queues.starts(among[waits])[1]
    return start
