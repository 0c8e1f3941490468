"""
Which sets of residents fit a GPU under MPS: enumerated, with proof of what cannot.

A set fits if for some choice of a batch size for each resident its least shares (interference/least_shares.py) sum
to no more than a GPU has. Feasible sets are closed under subsets, so sets are built by adding one resident at a time.

For each set two questions are asked, so that not every choice of batch sizes has to be tried:

possible    A relaxation: whatever its batch size and share, a resident's ability (`MonotoneModel`; of iGniter's model
            1000 b / k_act, because t_gpu >= k_act) is at least its throughput, so at least the rate required of it.
            Demands grow with ability, so those of all residents at their required rates give lower limits of the
            surroundings of each; under them each takes the batch size with the smallest share. The least ability of
            each at the shares that it needs there, over its batch sizes, is a sharper limit, which is taken for new
            surroundings. A set whose smallest shares do not fit even so cannot fit. The limits rise when a resident is
            added, so possible sets are closed under subsets too.
feasible    A construction: the batch sizes that the relaxation chose, and their least shares; if these do not fit,
            once more with the surroundings that they give.

Every feasible set is possible. A bound over possible sets holds for all plans; a plan is made of feasible ones.
Where each resident has one batch size only, least shares decide, and the two are the same.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...allocation.allocated import MpsGpu
from ...performance.interference.least_shares import TOO_MUCH
from ...performance.interference.prediction import Channels, Floats, Ints
from ...performance.mps_sharing import MpsType
from ...performance.resolve import ResolvedProblem
from .items import Item, MpsItems, classes_of

CHUNK = 4_000
"""Sets that are looked at together."""

SHARPENINGS = 2
"""How often the relaxation takes the abilities that follow from its surroundings for new surroundings."""

ALL_COLUMNS = 1_000
"""Columns up to which all are used, so that a second goal sees the shares of smaller sets too."""

MOST_SETS = 12_000
"""Possible sets of a GPU type after which the enumeration is given up."""


@dataclass(frozen=True)
class Column:
    """A set of residents of a GPU of one type."""

    gpu: str
    items: tuple[int, ...]
    """Rising; an item may occur several times."""
    batches: tuple[int, ...] | None
    """Batch size of each resident; None: possible, but no allocation was found."""
    units: int
    """Sum of the least shares; of the relaxation where no allocation was found."""


@dataclass(frozen=True)
class Columns:
    """The possible sets of a GPU type."""

    columns: tuple[Column, ...]
    complete: bool
    """Whether these are all possible sets."""


class ItemTable:
    """The items of one GPU type as arrays, and the two questions."""

    def __init__(self, mps: MpsType, items: Sequence[Item], numbers: Sequence[int], copies: Ints) -> None:
        self.mps = mps
        self.items = tuple(items)
        self.copies = copies
        """How many residents of each item there can be in all."""
        self.numbers = np.array(numbers, dtype=np.int64)
        """Number of each row's item among all items."""
        self.memory = np.array([item.memory_mib for item in items])
        self.dedicated = np.array([item.dedicated for item in items], dtype=bool)
        self._workload = np.array([item.workload for item in items], dtype=np.int64)
        self._limit = np.array([item.limit_ms for item in items])
        self._required = np.array([item.required_rps for item in items])
        most = max(len(item.batches) for item in items)
        self._batch = np.array([[*item.batches, *[0] * (most - len(item.batches))] for item in items], dtype=np.int64)
        self.one_batch = most == 1
        self._demands = mps.model.demands_at(self._workload, self._required)
        alone = np.arange(len(items), dtype=np.int64)[:, None]
        self.least = self._smallest(alone)[0][:, 0]
        """Units that each item needs alone at least."""
        self.least_beside = self._beside_the_meekest()
        """Units that each item needs at least beside any neighbour."""

    def _beside_the_meekest(self) -> Ints:
        """Every item beside a resident with the least demands of all."""
        items = np.arange(len(self._workload))
        # Two columns, of which the second is the neighbour: its demands are what the first one meets.
        both = tuple(np.stack([own, np.full_like(own, own.min())], axis=1) for own in self._demands)
        needed: Ints = self._needed(np.stack([items, items], axis=1), both)[:, 0].min(axis=1)
        return needed

    def with_fewer_batches(self, most: int) -> "ItemTable":
        """Returns the table with at most so many batch sizes of each item, those with the smallest shares alone."""
        alone = np.arange(len(self.items))[:, None]
        needed = self._needed(alone, self._demands_of(alone))[:, 0]
        few = [
            replace(item, batches=tuple(sorted(self._batch[i, np.argsort(needed[i], kind="stable")[:most]].tolist())))
            for i, item in enumerate(self.items)
        ]
        return ItemTable(
            self.mps,
            [replace(item, batches=tuple(b for b in item.batches if b)) for item in few],
            self.numbers.tolist(),
            self.copies,
        )

    def possible(self, sets: Ints) -> tuple[Ints, Ints]:
        """Returns the smallest units and the batch size for them of every resident; shape (set, resident)."""
        return self._smallest(sets)

    def feasible(self, sets: Ints, batches: Ints, start: Ints) -> tuple[Ints, np.ndarray, Ints]:
        """Returns units, whether they fit, and batch sizes, which the second try changes where the first fails."""
        units, fits = self._least(sets, batches, start)
        again = np.flatnonzero(~fits)
        if self.one_batch or not again.size:
            return units, fits, batches
        batches = batches.copy()
        chosen = self._chosen_again(sets[again], units[again], batches[again])
        retried, now_fit = self._least(sets[again], chosen, np.ones_like(chosen))
        units[again], fits[again], batches[again] = retried, now_fit, chosen
        return units, fits, batches

    def _least(self, sets: Ints, batches: Ints, start: Ints) -> tuple[Ints, np.ndarray]:
        return self.mps.least_shares(
            self._workload[sets],
            batches,
            self._limit[sets],
            self._required[sets],
            start=start,
        )

    def _smallest(self, sets: Ints) -> tuple[Ints, Ints]:
        """The relaxation: surroundings at required rates, then at the least abilities that follow from them."""
        demands = self._demands_of(sets)
        for last in (*(False,) * (0 if self.one_batch else SHARPENINGS), True):
            needed = self._needed(sets, demands)
            ability = self._ability(sets, needed)
            if last:
                break
            least = np.where(needed < TOO_MUCH, ability, np.inf).min(axis=2)
            least = np.where(np.isfinite(least), least, self._required[sets])
            demands = self.mps.model.demands_at(self._workload[sets], least)
        return self._best(sets, needed, ability)

    def _chosen_again(self, sets: Ints, units: Ints, batches: Ints) -> Ints:
        """Returns the batch sizes with the smallest shares in the surroundings that an allocation gives."""
        model, workload = self.mps.model, self._workload[sets]
        ability = model.ability_rps(workload, batches, self.mps.percent(units))
        needed = self._needed(sets, model.demands_at(workload, ability))
        return self._best(sets, needed, self._ability(sets, needed))[1]

    def _demands_of(self, sets: Ints) -> Channels:
        """Returns the demands of each resident at its required rate, which are the least that it can have."""
        return tuple(own[sets] for own in self._demands)

    def _needed(self, sets: Ints, demands: Channels) -> Ints:
        """Returns the units needed with each batch size beside such others, shape (set, resident, choice)."""
        batch = self._batch[sets]
        percent = self.mps.model.percent_needed(
            self._workload[sets][..., None],
            batch,
            self._limit[sets][..., None] * (1 + 1e-9),
            self._required[sets][..., None] * (1 - 1e-9),
            surroundings=tuple(met[..., None] for met in self.mps.model.surroundings(demands)),
            residents=np.full((*sets.shape, 1), sets.shape[1]),
        )
        needed = self.mps.units_for(percent)
        usable = (batch > 0) & (needed <= self.mps.capacity_units)
        return np.where(usable, needed, TOO_MUCH).astype(np.int64)

    def _ability(self, sets: Ints, needed: Ints) -> Floats:
        """Returns the ability at the units needed with each batch size; 0 where none are enough."""
        percent = np.where(needed < TOO_MUCH, self.mps.percent(needed), 0.0)
        return self.mps.model.ability_rps(self._workload[sets][..., None], self._batch[sets], percent)

    def _best(self, sets: Ints, needed: Ints, ability: Floats) -> tuple[Ints, Ints]:
        """Returns the smallest units and their batch sizes; of equal units those that disturb the others least."""
        best = np.argmin(needed + ability / (1.0 + 2.0 * ability.max(initial=0.0)), axis=2)
        pick = (*np.indices(best.shape), best)
        return needed[pick], self._batch[sets][pick]


def enumerate_columns(table: ItemTable, *, most: int = MOST_SETS) -> Columns:
    """Returns the possible sets of one GPU type; after so many it gives up."""
    mps = table.mps
    found: list[Column] = []
    single = np.flatnonzero((table.least <= mps.capacity_units) & (table.memory <= mps.memory_mib))[:, None]
    least, batches = table.possible(single)
    level = list(judged(table, single, least, batches, found))
    while level:
        sets, least = (np.concatenate(parts) for parts in zip(*level, strict=True))
        if sets.shape[1] == mps.clients:
            break
        level = []
        for grown, start in _grown(table, sets, least):
            smallest, batches = table.possible(grown)
            fits = smallest.sum(axis=1) <= mps.capacity_units
            level += judged(table, grown[fits], np.maximum(smallest, start)[fits], batches[fits], found)
            if len(found) > most:
                return Columns(tuple(found), complete=False)
    return Columns(tuple(found), complete=True)


def maximal(columns: Iterable[Column]) -> list[Column]:
    """
    Returns the columns that are no part of another one; those without an allocation are left out.

    Subsets of feasible sets are feasible, so for the least cost the others are never needed.
    """
    feasible = {(column.gpu, column.items): column for column in columns if column.batches is not None}
    parts = {(gpu, items[:i] + items[i + 1 :]) for gpu, items in feasible for i in range(len(items))}
    return [column for key, column in feasible.items() if key not in parts]


def few_columns(columns: Sequence[Column]) -> list[Column]:
    """Returns the feasible columns, or, where they are many, those that are no part of another."""
    feasible = [column for column in columns if column.batches is not None]
    return feasible if len(feasible) <= ALL_COLUMNS else maximal(feasible)


def columns_of_gpus(resolved: ResolvedProblem, shared: MpsItems, gpus: Sequence[MpsGpu]) -> list[Column]:
    """Returns the sets of residents of known GPUs, as far as their residents are items."""
    class_of = {w: members[0] for members in classes_of(resolved) for w in members}
    number = {(item.gpu, item.workload): i for i, item in enumerate(shared.items) if item.part == 1}
    columns = []
    # A workload with several residents is split; none of them carries all of its rate.
    residents_of = Counter((gpu.gpu, w) for gpu in gpus for w in gpu.workloads)
    for gpu in gpus:
        if any(residents_of[gpu.gpu, w] > 1 for w in gpu.workloads):
            continue
        keys = [(gpu.gpu, class_of[resident.workload]) for resident in gpu.residents]
        if not all(key in number for key in keys):
            continue
        residents = sorted((number[key], one) for key, one in zip(keys, gpu.residents, strict=True))
        units = round(sum(one.percent for _, one in residents) / resolved.mps[gpu.gpu].unit_percent)
        items, batches = tuple(item for item, _ in residents), tuple(one.batch for _, one in residents)
        columns.append(Column(gpu.gpu, items, batches, units))
    return columns


def item_tables(resolved: ResolvedProblem, shared: MpsItems) -> list[ItemTable]:
    """Returns the items of each GPU type that has some."""
    copies = np.zeros(len(shared.items), dtype=np.int64)
    for one in shared.classes:
        for recipe in one.recipes:
            for item in recipe:
                copies[item] = max(copies[item], recipe.count(item) * len(one.members))
    tables = []
    for gpu, mps in resolved.mps.items():
        numbers = [i for i, item in enumerate(shared.items) if item.gpu == gpu]
        if numbers:
            tables.append(ItemTable(mps, [shared.items[i] for i in numbers], numbers, copies[numbers]))
    return tables


def judged(
    table: ItemTable, sets: Ints, least: Ints, batches: Ints, found: list[Column]
) -> Iterator[tuple[Ints, Ints]]:
    """Adds possible sets to those found, with an allocation where there is one; yields those to be grown further."""
    if not len(sets):
        return
    units, fits, chosen = table.feasible(sets, batches, np.ones_like(least))
    if table.one_batch:  # then least shares decide
        sets, units, fits, chosen = sets[fits], units[fits], fits[fits], chosen[fits]
        least = units
    totals = np.where(fits, units.sum(axis=1), least.sum(axis=1))
    numbers = table.numbers[sets]
    found += [
        Column(
            table.mps.gpu,
            tuple(numbers[i].tolist()),
            tuple(chosen[i].tolist()) if fits[i] else None,
            int(totals[i]),
        )
        for i in range(len(sets))
    ]
    growing = ~table.dedicated[sets].any(axis=1)
    yield sets[growing], least[growing]


def _grown(table: ItemTable, sets: Ints, least: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yields every set with one item more, not before its last, that solo shares, memory and copies allow."""
    mps = table.mps
    for begin in range(0, len(sets), CHUNK):
        part, start = sets[begin : begin + CHUNK], least[begin : begin + CHUNK]
        last = part[:, -1]
        items = np.arange(len(table.least))
        room = mps.capacity_units - start.sum(axis=1)
        memory: Floats = mps.memory_mib - table.memory[part].sum(axis=1)
        allowed = (
            (items[None, :] >= last[:, None])
            & (table.least[None, :] <= room[:, None])
            & (table.memory[None, :] <= memory[:, None])
            & ~table.dedicated[None, :]
        )
        repeated = (part == last[:, None]).sum(axis=1)
        full = np.flatnonzero(repeated >= table.copies[last])
        allowed[full, last[full]] = False
        rows, added = np.nonzero(allowed)
        for at in range(0, len(rows), CHUNK):
            row, item = rows[at : at + CHUNK], added[at : at + CHUNK]
            yield (
                np.concatenate([part[row], item[:, None]], axis=1),
                np.concatenate([start[row], table.least[item][:, None]], axis=1),
            )
