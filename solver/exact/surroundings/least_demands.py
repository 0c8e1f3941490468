"""
What a resident takes at least of a GPU under MPS whose surroundings are known to be in a cell.

The surroundings of a GPU: how many residents it has, and what all of them ask together of what they share (`Totals`;
with iGniter's model power in W and use of the L2 cache in percent). A cell is a box of surroundings. In it, with n-, P-
and C- for its lower corner, a resident i has

    u_i   over its batch sizes b, the least of the fewest units r(b) with which it keeps its SLO at the lower corner
    p_i   over its batch sizes, the least of what it asks of each thing shared, at b and r(b)

Lemma. On every GPU that keeps its SLOs and has its surroundings in the cell, a resident has at least u_i units and asks
at least p_i.

Proof. Let it have batch size b and r units there. `percent_needed_among` never falls with the surroundings, so r units
keep its SLO at the lower corner too, where as many neighbours are there and what they ask sums to no more. So r is one
of the numbers of which r(b) is the least: r >= r(b) >= u_i. Its ability never falls with its share, nor its demands
with its ability (`MonotoneModel`), so at r units it asks at least what it asks at r(b), which is at least p_i.

Nothing is said of batch sizes (each is a choice of its own), nor of how latency depends on a service's own share in its
real surroundings: with a steep power slope that rises, and the lemma does not ask, since the power of the lower corner
is no more than the real one at any share.

The other limits of a GPU, memory and the number of clients, are left out here, which only lowers what is said.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...performance.interference.least_shares import TOLERANCE
from ...performance.interference.prediction import Floats, Ints
from ...performance.mps_sharing import MpsType
from ..mps.items import Item

Shorts = NDArray[np.int16]
Singles = NDArray[np.float32]

TOO_MUCH = 10_000
"""Units of a share that no GPU has; in 16 bits."""

GREATEST = 1e30
"""What is asked at most that is counted."""

LOWERED = 1 - 1e-6
"""What demands are multiplied by, so that they stay lower limits as floats of 32 bits."""

TOGETHER = 1 << 15
"""Batch sizes, of all residents and cells together, that are looked at together."""


@dataclass(frozen=True, eq=False)
class Guests:
    """Those who may be residents of GPUs of one type; arrays have shape (guest,) or (guest, batch size)."""

    mps: MpsType
    items: tuple[Item, ...]
    workload: Ints
    batch: Ints
    """0 where a guest has fewer batch sizes than others."""
    budget_ms: Floats
    """What a batch may take on the GPU; -inf where there is no such batch size."""
    memory_mib: Floats

    def __len__(self) -> int:
        return len(self.items)

    @property
    def things(self) -> int:
        """Of how many things shared the model says what residents ask."""
        return len(self.mps.model.demands_at(self.workload[:1], np.ones(1)))

    def of(self, rows: Ints) -> "Guests":
        """Returns some of them, in the order given."""
        items = tuple(self.items[i] for i in rows.tolist())
        return Guests(
            self.mps, items, self.workload[rows], self.batch[rows], self.budget_ms[rows], self.memory_mib[rows]
        )


def guests_of(mps: MpsType, items: tuple[Item, ...]) -> Guests:
    """Returns items of a GPU type as arrays; the one place where it is settled what a batch may take."""
    most = max(len(item.batches) for item in items)
    batch = np.array([[*item.batches, *[0] * (most - len(item.batches))] for item in items], dtype=np.int64)
    workload = np.array([item.workload for item in items], dtype=np.int64)
    limit, required = np.array([(item.limit_ms, item.required_rps) for item in items]).T[:, :, None]
    budget = mps.model.gpu_budget_ms(workload[:, None], batch, limit * (1 + TOLERANCE), required * (1 - TOLERANCE))
    memory = np.array([item.memory_mib for item in items])
    return Guests(mps, items, workload, batch, np.where(batch > 0, budget, -np.inf), memory)


@dataclass(frozen=True, eq=False)
class LeastDemands:
    """What guests take at least in cells."""

    units: Shorts
    """Shape (cell, guest); TOO_MUCH: it cannot be there."""
    asked: Singles
    """Shape (thing shared, cell, guest)."""


def least_demands(guests: Guests, residents: Ints, totals: Floats) -> LeastDemands:
    """
    Returns what all guests take at least in cells, u and p of the lemma.

    Parameters
    ----------
    residents
        n-, shape (cell,).
    totals
        What all residents ask together at the lower corner, shape (thing shared, cell).
    """
    cells, count = len(residents), len(guests)
    units = np.empty((cells, count), dtype=np.int16)
    asked = np.empty((len(totals), cells, count), dtype=np.float32)
    workload, batch = guests.workload[:, None], guests.batch
    step = max(TOGETHER // max(batch.size, 1), 1)
    for begin in range(0, cells, step):
        some = slice(begin, begin + step)
        units[some], asked[:, some] = _least_of(
            guests, workload, batch, guests.budget_ms, residents[some, None, None], totals[:, some, None, None]
        )
    return LeastDemands(units, asked)


def least_percent(guests: Guests, residents: Ints, totals: Floats) -> Floats:
    """
    Returns the least share of each guest in cells before it is rounded to units, in percent of a GPU and at most 100.

    Parameters as of `least_demands`; shape (cell, guest).
    """
    percent = guests.mps.model.percent_needed_among(
        guests.workload[:, None],
        guests.batch,
        guests.budget_ms,
        totals=tuple(totals[:, :, None, None]),
        residents=residents[:, None, None],
    )
    least: Floats = np.minimum(percent, 100.0).min(axis=-1)
    return least


def least_in(guests: Guests, sets: Ints, totals: Floats) -> LeastDemands:
    """Returns what the residents of sets take at least if each set's surroundings are at least `totals`: (set, ...)."""
    residents = np.full((len(sets), 1, 1), sets.shape[1])
    workload, batch = guests.workload[sets][..., None], guests.batch[sets]
    return LeastDemands(
        *_least_of(guests, workload, batch, guests.budget_ms[sets], residents, totals[:, :, None, None])
    )


def _least_of(
    guests: Guests, workload: Ints, batch: Ints, budget_ms: Floats, residents: Ints, totals: Floats
) -> tuple[Shorts, Singles]:
    """The least over the batch sizes, which are the last axis."""
    mps = guests.mps
    percent = mps.model.percent_needed_among(workload, batch, budget_ms, totals=tuple(totals), residents=residents)
    units = mps.units_for(percent)
    units = np.where(units <= mps.capacity_units, units, TOO_MUCH)
    here = units < TOO_MUCH
    with np.errstate(over="ignore", invalid="ignore"):  # what is beyond all numbers counts as 0, which is no more
        ability = mps.model.ability_rps(workload, batch, np.minimum(units * mps.unit_percent, 100.0))
        demands = mps.model.demands_at(workload, ability)
    least = [np.where(here, own, np.inf).min(axis=-1) for own in demands]
    asked = np.stack([np.where(own < GREATEST, own, 0.0) * LOWERED for own in least])
    return units.min(axis=-1).astype(np.int16), asked.astype(np.float32)
