"""
The partitions of a fleet that services may take turns on: MIG instances, whole GPUs, shares under MPS.

A share is one at which a model was measured alone, and a GPU under MPS is divided into any of them that add up to 100.
All of them are sizes of partitions, and ways to cut a GPU into them, to a search that knows nothing of what they are.
Of a GPU under MPS memory is counted for a search as if each share had its part of it, and there are no more shares than
MPS has clients: plans keep both, and bounds know neither. What is kept free for standby processes is no part of a GPU
that shares divide; each of them takes the memory and the client of a process once more. Where iGniter's model says how
services slow each other, shares are of any whole units (slowed_shares.py).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf

import numpy as np

from ...exact.mig.patterns import Pattern, patterns_of
from ...exact.turns.columns.slots import Slots, slots_of
from ...exact.turns.columns.time_shares import Cut
from ...exact.turns.columns.unit_shares import UnitShares
from ...model.cpu import Cpu
from ...performance.fleet_types import FleetType
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem, usable_points
from ...performance.turns.turn_rule import TOLERANCE, TurnRule
from .slowed_shares import is_slowed_by_igniter, shares_alone

MOST_DIVISIONS = 2_000
"""Ways to divide a GPU that are enumerated."""

Points = tuple[Ints, Floats, Floats]
"""Batches of a service, their latencies in ms, and the memory of a process in MiB; nan: not known."""


@dataclass(frozen=True)
class TurningPartitions:
    """Sizes of partitions, first the problem's own (`ResolvedProblem.sizes`), and the ways to cut GPUs into them."""

    slots: tuple[Slots, ...]
    percent: tuple[float | None, ...]
    """Of each size: the share of a GPU under MPS; None: a MIG instance or a whole GPU."""
    cuts: tuple[Cut, ...]
    """All that leave no room for more, of which every plan uses a part."""
    usable_cuts: tuple[Cut, ...]
    """Those that a plan may use."""
    divided: tuple[UnitShares, ...] = ()
    """GPU types whose shares iGniter's model says how neighbours slow: any whole units, latencies as if alone."""

    @property
    def are_all_divided(self) -> bool:
        """Whether there are no others."""
        return sum(len(one.slots) for one in self.divided) == len(self.slots)

    def by_units(self) -> Floats:
        """Returns prices of shares by their units, USD per hour, shape (slots,); 0: of partitions of other kinds."""
        usd = np.zeros(len(self.slots))
        for one in self.divided:
            usd[list(one.slots)] = one.usd * np.arange(1, len(one.slots) + 1) / len(one.slots)
        return usd

    def beside_divided(self, shares: Floats, slot_usd: Floats) -> tuple[Floats, float]:
        """
        Returns what each service pays at least on partitions of other kinds, and the greatest worth of their GPUs.

        The second as a part of its GPU's price; `shares` as of `time_shares`, shape (slots, service).
        """
        divided = {slot for one in self.divided for slot in one.slots}
        others = [k for k in range(len(self.slots)) if k not in divided]
        with np.errstate(invalid="ignore"):
            pays = np.where(np.isfinite(shares[others]), slot_usd[others, None] * shares[others], np.inf)
        worth = (sum(slot_usd[k] * number for k, number in cut.counts.items()) / cut.usd for cut in self.cuts)
        return pays.min(axis=0, initial=np.inf), float(max(worth, default=0.0))


def turning_partitions(resolved: ResolvedProblem, rule: TurnRule) -> TurningPartitions:
    """Returns the partitions of a problem in which services may take turns."""
    slots = [_of_instances(resolved, k, rule) for k in range(len(resolved.sizes))]
    percent: list[float | None] = [None] * len(slots)
    cuts = _cuts_of_instances(resolved, slots)
    usable = list(cuts)
    divided = []
    for entry in resolved.fleet:
        if is_slowed_by_igniter(resolved, entry):
            mps = resolved.mps[entry.gpu.name]
            own = shares_alone(resolved, mps, rule)
            indices = tuple(range(len(slots), len(slots) + len(own)))
            divided.append(UnitShares(mps.gpu, entry.price_per_hour, indices, mps.least_units))
            slots += own
            percent += [mps.percent_of(units) for units in range(1, len(own) + 1)]
    for entry in (entry for entry in resolved.fleet if "mps" in entry.sharing):
        if is_slowed_by_igniter(resolved, entry):
            continue
        index = {}
        for share in measured_shares(resolved, entry):
            index[share] = len(slots)
            slots.append(_of_share(resolved, entry, share, rule))
            percent.append(share)
        clients = entry.facts.mps_client_limit(None) // standby_factor(resolved)
        for division in divisions(tuple(index), shared_percent(resolved)):
            counts = {index[share]: number for share, number in Counter(division).items()}
            cuts.append(Cut(entry.gpu.name, entry.price_per_hour, counts))
            fitting = Counter(division[:clients])
            counts = {index[share]: number for share, number in fitting.items()}
            usable.append(Cut(entry.gpu.name, entry.price_per_hour, counts))
    return TurningPartitions(tuple(slots), tuple(percent), tuple(cuts), tuple(usable), tuple(divided))


@cache
def divisions(shares: tuple[float, ...], percent: float = 100.0) -> tuple[tuple[float, ...], ...]:
    """
    Returns the ways to divide a GPU into shares, largest first, to which no share can be added.

    Any other way leaves out shares of one of these. At most MOST_DIVISIONS + 1.

    Parameters
    ----------
    shares
        Ascending, in percent.
    percent
        What shares may take of a GPU together.
    """

    def below(most: float, left: float) -> Iterator[tuple[float, ...]]:
        fitting = [share for share in shares if share <= left + 1e-9]
        if not fitting:
            yield ()
        for share in reversed([one for one in fitting if one <= most]):
            for rest in below(share, left - share):
                yield (share, *rest)

    found: list[tuple[float, ...]] = []
    for one in below(inf, percent):
        found.append(one)
        if len(found) > MOST_DIVISIONS:
            break
    return tuple(found)


def shared_percent(resolved: ResolvedProblem) -> float:
    """Returns what shares may take of a GPU beside standby processes."""
    return 100.0 - resolved.problem.settings.shadow_percent


def standby_factor(resolved: ResolvedProblem) -> int:
    """Returns how many processes of each share need memory and are MPS clients: its own, and one on standby."""
    return 2 if resolved.problem.settings.shadow_percent else 1


def measured_shares(resolved: ResolvedProblem, entry: FleetType) -> tuple[float, ...]:
    """Returns the shares at which any model was measured on a GPU type and that a GPU has room for, ascending."""
    tables = [table for (_, gpu), table in resolved.tables.items() if gpu == entry.gpu.name]
    room = shared_percent(resolved) * (1 + TOLERANCE)
    return tuple(sorted({share for table in tables for share in table.shares if share <= room}))


def points_of_instances(resolved: ResolvedProblem, k: int) -> Sequence[Points]:
    """Returns what all workloads achieve in one process on the partitions of a size, `k`: its index."""
    size = resolved.sizes[k]

    def points(w: int) -> Points:
        workload = resolved.problem.workloads[w]
        usable = usable_points(1, workload, size, resolved.points)
        if usable is None:
            return _nothing()
        own = workload.memory_mib
        memory = usable.memory_mib if own is None else np.full(usable.batch.size, own)
        return usable.batch, usable.latency_ms, memory

    return _looked_up(resolved, points)


def _of_instances(resolved: ResolvedProblem, k: int, rule: TurnRule) -> Slots:
    size = resolved.sizes[k]
    gpu = resolved.fleet_by_name[size.gpu].gpu
    if isinstance(gpu, Cpu):
        memory_mib = gpu.memory_of(size.cores or 0)
    else:
        memory_mib = size.mig.memory_mib if size.mig else gpu.memory_mib
    return slots_of(
        size.gpu,
        size.name,
        points_of_instances(resolved, k),
        alone_rps=resolved.capacity_rps[:, k],
        rate_rps=resolved.required_rps,
        rule=rule,
        capacity_mib=inf if memory_mib is None else float(memory_mib),
    )


def points_of_share(resolved: ResolvedProblem, entry: FleetType, share: float) -> Sequence[Points]:
    """Returns what all workloads achieve alone on a share at which models were measured."""

    def points(w: int) -> Points:
        workload = resolved.problem.workloads[w]
        table = resolved.tables.get((workload.model, entry.gpu.name))
        if table is None or share not in table.shares or not _allowed(workload.gpus, entry.gpu.name):
            return _nothing()
        known = [(batch, ms) for batch, at, ms in table.points(workload.batch_sizes) if at == share]
        batch, latency_ms = (np.array([one[i] for one in known]) for i in range(2))
        own = np.nan if workload.memory_mib is None else workload.memory_mib
        return batch.astype(np.int64), latency_ms.astype(np.float64), np.full(len(known), own)

    return _looked_up(resolved, points)


def _of_share(resolved: ResolvedProblem, entry: FleetType, share: float, rule: TurnRule) -> Slots:
    none = np.zeros(len(resolved.required_rps))
    return slots_of(
        entry.gpu.name,
        f"{share:g} %",
        points_of_share(resolved, entry, share),
        alone_rps=none,
        rate_rps=resolved.required_rps,
        rule=rule,
        capacity_mib=entry.facts.memory_mib * share / shared_percent(resolved) / standby_factor(resolved),
    )


def _looked_up(resolved: ResolvedProblem, points: Callable[[int], Points]) -> Sequence[Points]:
    """Returns the points of all workloads, those of alike ones looked up once."""
    known: dict[object, Points] = {}
    found = []
    for w, workload in enumerate(resolved.problem.workloads):
        alike = workload.model, workload.gpus, workload.batch_sizes, workload.memory_mib
        if alike not in known:
            known[alike] = points(w)
        found.append(known[alike])
    return found


def _nothing() -> Points:
    none = np.zeros(0)
    return none.astype(np.int64), none, none


def _allowed(gpus: Collection[str] | None, gpu: str) -> bool:
    return gpus is None or gpu in gpus


def served_by_themselves(resolved: ResolvedProblem, slots: Sequence[Slots]) -> ResolvedProblem:
    """Returns the problem with what services carry by themselves on each of its sizes, if in a round of their own."""
    return replace(resolved, capacity_rps=np.stack([one.alone_rps for one in slots[: len(resolved.sizes)]], axis=1))


def cut_of(resolved: ResolvedProblem, pattern: Pattern) -> Cut:
    """Returns a way to cut a GPU by MIG, or to use it whole."""
    index = {size.name: k for k, size in enumerate(resolved.sizes) if size.gpu == pattern.gpu}
    counts = {index[name]: number for name, number in Counter(pattern.profiles).items()}
    return Cut(pattern.gpu, resolved.fleet_by_name[pattern.gpu].price_per_hour, counts)


def _cuts_of_instances(resolved: ResolvedProblem, slots: Sequence[Slots]) -> list[Cut]:
    """Returns how GPUs are cut; sizes count on which a service is served by itself, if in a round."""
    if not slots:
        return []
    used = served_by_themselves(resolved, slots)
    return [cut_of(resolved, pattern) for entry in resolved.fleet for pattern in patterns_of(used, entry)]
