"""
What services take of shares under MPS beside neighbours who ask at most so much: tables, to try many contents quickly.

Surroundings are how many shares a GPU has, and the most that all of them ask together of each thing shared, each share
what its greediest service asks. A latency is no longer than with all of that asked, so what fits in surroundings fits
on a GPU that is in them. Of two shares or more, what is asked is counted in steps; a share alone asks what it asks.

On a share a service stands alone, back to back, or in a round. Lengths of rounds are a few; in each a service has the
least batch that carries its rate, and takes as long as that. A round is of one of these lengths where the turns of all
fit into it.

Tables of services of one kind are those of its model; only rates and SLOs differ. A heuristic: it claims nothing.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....performance.alone import each_kind
from ....performance.interference.prediction import Floats, Ints
from ....performance.mps_sharing import MpsType
from ....performance.turns.turn_rule import TOLERANCE

LENGTHS, SHORTEST = 48, 1 / 40
"""Lengths of rounds that are tried, in even proportions, and the shortest as a part of the longest SLO."""

STEP = 1.03
"""By how many times what is asked differs from one surroundings to the next."""

KEPT = 150
"""Surroundings whose tables are kept."""

Key = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Items:
    """What is put onto GPUs of one type: services, or parts of their rates. Arrays have shape (item,)."""

    mps: MpsType
    """Its workloads are the items."""
    owner: Ints
    """The service of each."""
    rate_rps: Floats
    slo_ms: Floats
    """What waiting and execution may take together."""
    limit_ms: Floats
    """What a batch may take back to back."""
    slots_kept: bool


class Tables:
    """What items take of shares, by surroundings; index 0 of units is a share of one."""

    def __init__(self, items: Items) -> None:
        self.items, self.units = items, items.mps.capacity_units
        top_ms = float(items.slo_ms.max())
        self.length_ms: Floats = np.geomspace(SHORTEST * top_ms, top_ms, LENGTHS)
        """Shape (length,)."""
        self.percent = items.mps.percent(np.arange(1, self.units + 1))
        self.kind = np.zeros(len(items.owner), dtype=np.int64)
        self.rows: list[Ints] = []
        self.batches: list[Ints] = []
        needed = items.rate_rps[:, None] * self.length_ms / 1000.0
        self.batch_of: Ints = np.zeros(needed.shape, dtype=np.int64)
        """Shape (item, length): the index of its batch in rounds of a length; one beyond all: there is none."""
        asks = []
        for k, (rows, alone) in enumerate(each_kind(items.mps)):
            self.kind[rows] = k
            self.rows.append(rows)
            self.batches.append(alone.batch)
            self.batch_of[rows] = np.searchsorted(alone.batch, needed[rows] * (1 - TOLERANCE))
            at = rows[:1, None], alone.batch[:, None], self.percent[None]
            asks.append(np.array(items.mps.model.demands_at(at[0], items.mps.model.ability_rps(*at))))
        self.most_batches = max(len(one) for one in self.batches)
        beyond = np.array([len(one) for one in self.batches])[self.kind]
        self.batch_of = np.where(self.batch_of >= beyond[:, None], self.most_batches, self.batch_of)
        self.asks: Floats = np.zeros((len(asks), len(asks[0]), self.most_batches, self.units))
        """Shape (kind, thing shared, batch, unit)."""
        for k, one in enumerate(asks):
            self.asks[k, :, : one.shape[1]] = one
        self._floor = np.maximum(self.asks.max(axis=(0, 2, 3)) * 1e-3, 1e-9)
        self._known: dict[Key, Around] = {}

    def around(self, shares: int, totals: Floats) -> "Around":
        """Returns the surroundings of so many shares that ask so much together, or a little more."""
        if shares == 1:
            totals = np.zeros(len(self._floor))
        steps = np.ceil(np.log(np.maximum(totals / self._floor, 1.0)) / np.log(STEP) - 1e-6).astype(np.int64)
        key = shares, tuple(steps.tolist())
        if key not in self._known:
            if len(self._known) >= KEPT:
                del self._known[next(iter(self._known))]
            self._known[key] = Around(self, shares, self._floor * STEP**steps)
        return self._known[key]


@dataclass(frozen=True)
class Share:
    """What a content of a share needs in surroundings."""

    items: tuple[int, ...]
    units: int
    length: int
    """Index of the length of its round; -1: one item, back to back."""
    batches: tuple[int, ...]
    """By their indices."""
    asks: Floats
    """What its greediest item asks, shape (thing shared,)."""


class Around:
    """Tables in some surroundings."""

    def __init__(self, tables: Tables, shares: int, caps: Floats) -> None:
        self.tables, self.shares, self.caps = tables, shares, caps
        items, units = tables.items, tables.units
        count = len(items.owner)
        latency = np.full((len(tables.rows), tables.most_batches + 1, units), np.inf)
        self.alone: Ints = np.full(count, units + 1, dtype=np.int64)
        """Units that each item needs back to back; more than there are: it cannot stand so."""
        self._alone_batch = np.zeros(count, dtype=np.int64)
        first = items.mps.least_units - 1
        for k, (rows, batch) in enumerate(zip(tables.rows, tables.batches, strict=True)):
            totals = tuple(tables.asks[k, :, : batch.size]) if shares == 1 else tuple(np.asarray(one) for one in caps)
            ms, rps = items.mps.model.among(
                np.array(int(rows[0])), batch[:, None], tables.percent[None], totals=totals, residents=np.array(shares)
            )
            latency[k, : batch.size, first:] = ms[:, first:]
            fits = (latency[k, : batch.size] <= items.limit_ms[rows, None, None]) & (
                rps >= items.rate_rps[rows, None, None]
            )
            self._stand_alone(k, rows, fits)
        self._latency = latency

    def _stand_alone(self, k: int, rows: Ints, fits: np.ndarray) -> None:
        """Notes the least shares on which items of a kind stand alone, and of their batches that which asks least."""
        of_unit = np.asarray(fits.any(axis=1))
        can, unit = np.any(of_unit, axis=1), of_unit.argmax(axis=1)
        self.alone[rows] = np.where(can, unit + 1, self.tables.units + 1)
        asks = self.tables.asks[k, :, : fits.shape[1]][:, :, unit] / self.caps[:, None, None]
        here = fits[np.arange(len(rows)), :, unit].T
        self._alone_batch[rows] = np.where(here, asks.sum(axis=0), np.inf).argmin(axis=0)

    @cached_property
    def takes_ms(self) -> Floats:
        """How long turns of items are, shape (item, length, unit); inf: there is none that is in time."""
        tables, items = self.tables, self.tables.items
        turn = self._latency[tables.kind[:, None], tables.batch_of]
        length, slo_ms = tables.length_ms[None, :, None], items.slo_ms[:, None, None]
        after = turn if items.slots_kept else length
        return np.where(length + after <= slo_ms, turn, np.inf).astype(np.float32)

    @cached_property
    def round_ms(self) -> Floats:
        """Shape (length, 1): how long turns may be together."""
        return (self.tables.length_ms[:, None] * (1 - 1e-6)).astype(np.float32)

    def share(self, items: tuple[int, ...]) -> Share | None:
        """Returns the least share for a content; None: it fits none."""
        tables = self.tables
        who = np.array(items)
        if len(items) == 1:
            units = int(self.alone[who[0]])
            if units > tables.units:
                return None
            batch = int(self._alone_batch[who[0]])
            return Share(items, units, -1, (batch,), tables.asks[tables.kind[who[0]], :, batch, units - 1])
        taken = self.takes_ms[who].sum(axis=0)
        fits = taken <= self.round_ms
        of_unit = fits.any(axis=0)
        if not of_unit.any():
            return None
        unit = int(of_unit.argmax())
        lengths = np.flatnonzero(fits[:, unit])
        batches = tables.batch_of[who][:, lengths]
        asks = tables.asks[tables.kind[who][:, None], :, batches, unit].max(axis=0)
        least = int((asks / self.caps).sum(axis=1).argmin())
        return Share(items, unit + 1, int(lengths[least]), tuple(batches[:, least].tolist()), asks[least])
