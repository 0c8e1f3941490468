"""
iGniter (IEEE TPDS 2023): least interference first, algorithms 1 and 2.

Workloads come by the share that they need alone (eq. 18), largest first. Each is tried on every open GPU: there the
least shares of all that it would host are found (algorithm 2), and it goes where the sum of shares grows least beyond
its own; of equals the first GPU wins. If none has room it opens a GPU. Shares that were raised stay.

`ffd` is the paper's baseline FFD+: first fit decreasing by the share needed alone, which ignores interference; its
plans may break SLOs, and then say so. `ffd-interference` is FFD++: first fit with algorithm 2 as the test.

Differences from the published source, on purpose: the least shares are computed as a fixed point instead of by
steps of one unit, which ends at the same shares; a GPU is opened with the share that a workload needs there alone,
throttling included; batch sizes stay in the range that was measured; memory and the number of MPS clients are limits.

`igniter-least-batch` and `ffd-interference-least-batch` are ours: the same algorithms, but each workload has the batch
size with which it needs least of a GPU alone instead of that of eq. 17 (performance/igniter_rules.py). That matters
more than the placement: fleets of services that differ take 7 % fewer GPUs (docs/how-good-how-fast.md). Where the rules
of a problem fix the batch size, they refuse it.

GPUs with equal contents are interchangeable but for their number, so what a workload does to a content is
computed once. With few kinds of workloads the time no longer grows with the number of GPUs.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Literal

import numpy as np

from ..allocation.allocated import MpsGpu, Resident
from ..exact.fleet.kept_limits import keeps_limits
from ..exact.mps.packed_residents import packed_on_each
from ..model.plan import Plan
from ..model.problem import Sharing
from ..performance.alone import alone_on
from ..performance.fleet_types import FleetType
from ..performance.igniter_rules import BatchRule, Demand, appropriate_batches, demands, least_share_batches
from ..performance.interference.prediction import Ints
from ..performance.mps_sharing import MpsType
from ..performance.resolve import ResolvedProblem
from .planner import Planner
from .single_type import Placed, cheapest_single_type

Fit = Literal["least-interference", "first", "first-ignoring-interference"]

BOTH_FITS: tuple[Fit, ...] = ("least-interference", "first")
"""The ways to fit of which each takes fewer GPUs than the other at times."""


class Igniter(Planner):
    """iGniter, the first-fit baselines that differ from it in where a workload goes, and both with other batches."""

    sharing: tuple[Sharing, ...] = ("mps",)
    own_rule = True

    def __init__(self, name: str, source: str, fit: Fit, batches: BatchRule = appropriate_batches) -> None:
        self.name = name
        self.source = source
        self.own_model = fit == "first-ignoring-interference"
        self._fit: Fit = fit
        self._batches = batches

    def refuses(self, resolved: ResolvedProblem) -> Sequence[str]:
        reasons = list(super().refuses(resolved))
        if resolved.problem.settings.mps_rules == "igniter" and self._batches is not appropriate_batches:
            reasons.append(f"{self.name} chooses batch sizes, which settings.mps_rules igniter fixes by its eq. 17")
        return reasons

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        return cheapest_single_type(resolved, self.name, self._place, self.sharing)

    def _place(self, resolved: ResolvedProblem, entry: FleetType) -> Placed:
        return placed_by_igniter(resolved, resolved.mps[entry.gpu.name], fit=self._fit, batches=self._batches)


def placed_by_igniter(
    resolved: ResolvedProblem,
    mps: MpsType,
    *,
    fit: Fit = "least-interference",
    batches: BatchRule = appropriate_batches,
) -> Placed:
    """Returns GPUs of one type that host all workloads, or the workloads that cannot be hosted."""
    asked = demands(resolved, mps, batches=batches)
    if isinstance(asked, list):
        return asked
    kinds = _Kinds(mps, asked.shared)
    gpus, arrivals = _placed(kinds, fit)
    dedicated = [
        MpsGpu(mps.gpu, (Resident(one.workload, one.batch, mps.percent_of(one.least_units)),))
        for one in asked.dedicated
    ]
    return [*dedicated, *kinds.named(gpus, arrivals)]


def placed_on_each(resolved: ResolvedProblem) -> Iterator[list[MpsGpu]]:
    """
    Yields GPUs that host all workloads, however many there are: of one type each, packed in a moment, then by iGniter.

    Each is looked for when it is asked for. Both ways to fit are known to take fewer GPUs than the other at times.
    """
    yield from packed_on_each(resolved)
    for batches in _batch_rules(resolved):
        for fit in BOTH_FITS:
            for mps in resolved.mps.values():
                placed = placed_by_igniter(resolved, mps, fit=fit, batches=batches)
                gpus = [one for one in placed if isinstance(one, MpsGpu)]
                if gpus:
                    yield gpus


def hosted(resolved: ResolvedProblem) -> list[MpsGpu]:
    """Returns GPUs that host, on each type and by each way to fit, all workloads that the type can host."""
    ways = [(batches, fit) for batches in _batch_rules(resolved) for fit in BOTH_FITS]
    return [gpu for name in resolved.mps for batches, fit in ways for gpu in _hosted_by(resolved, name, fit, batches)]


def _batch_rules(resolved: ResolvedProblem) -> tuple[BatchRule, ...]:
    """Returns the ways to choose batch sizes that a problem allows, the better one first."""
    free = resolved.problem.settings.mps_rules == "free"
    return (least_share_batches, appropriate_batches) if free else (appropriate_batches,)


def _hosted_by(resolved: ResolvedProblem, name: str, fit: Fit, batches: BatchRule) -> list[MpsGpu]:
    rows = np.flatnonzero(alone_on(resolved.mps[name], resolved.limit_ms).greatest_rps > 0)
    if not rows.size:
        return []
    own = resolved.restricted_to(rows.tolist())
    return [
        MpsGpu(name, tuple(replace(one, workload=int(rows[one.workload])) for one in gpu.residents))
        for gpu in placed_by_igniter(own, own.mps[name], fit=fit, batches=batches)
        if isinstance(gpu, MpsGpu)
    ]


def within_limits(resolved: ResolvedProblem, plans: Iterable[Sequence[MpsGpu]]) -> Iterator[Sequence[MpsGpu]]:
    """Yields those of the plans, each on GPUs of one type, that keep the counts of GPUs and the limits on replicas."""
    return (gpus for gpus in plans if keeps_limits(resolved, gpus))


_Content = tuple[tuple[int, int], ...]
"""Residents of a GPU in the order of their arrival: (kind, units)."""


class _Kinds:
    """The different demands, their least shares together, and which workloads are of which kind."""

    def __init__(self, mps: MpsType, shared: Sequence[Demand]) -> None:
        self.mps = mps
        key_of = [
            (one.batch, one.limit_ms, one.required_rps, one.memory_mib, *mps.model.key(one.workload)) for one in shared
        ]
        numbers = {key: kind for kind, key in enumerate(dict.fromkeys(key_of))}
        self.members: list[list[Demand]] = [[] for _ in numbers]
        for one, key in zip(shared, key_of, strict=True):
            self.members[numbers[key]].append(one)
        first = [members[0] for members in self.members]
        self.units = [one.least_units for one in first]
        self.memory = [one.memory_mib for one in first]
        self._workload = np.array([one.workload for one in first], dtype=np.int64)
        self._batch = np.array([one.batch for one in first], dtype=np.int64)
        self._limit = np.array([one.limit_ms for one in first])
        self._required = np.array([one.required_rps for one in first])
        # Stable: of equal shares the workload that is listed first comes first.
        listed = sorted(range(len(shared)), key=lambda i: -shared[i].least_units)
        self.order = [numbers[key_of[i]] for i in listed]

    def with_one_more(self, contents: "_Contents", slots: Ints, kind: int) -> tuple[Ints, np.ndarray]:
        """Returns the least shares of contents with a workload of a kind, who comes last, and which of these fit."""
        residents = contents.residents[slots]
        width = int(residents.max()) + 1
        last = residents[:, None] == np.arange(width)
        chosen = np.where(last, kind, contents.kind[slots, :width])
        here = chosen >= 0
        return self.mps.least_shares(
            np.where(here, self._workload[chosen], -1),
            self._batch[chosen],
            self._limit[chosen],
            self._required[chosen],
            start=np.where(last, self.units[kind], contents.units[slots, :width]),
        )

    def named(self, gpus: Sequence[_Content], arrivals: Sequence[tuple[int, int]]) -> list[MpsGpu]:
        """Returns the GPUs with workloads for kinds; arrivals are (kind, GPU) in the order of placement."""
        waiting = [iter(members) for members in self.members]
        residents: list[list[Demand]] = [[] for _ in gpus]
        for kind, number in arrivals:
            residents[number].append(next(waiting[kind]))
        return [
            MpsGpu(
                self.mps.gpu,
                tuple(
                    Resident(one.workload, one.batch, self.mps.percent_of(units))
                    for one, (_, units) in zip(own, content, strict=True)
                ),
            )
            for own, content in zip(residents, gpus, strict=True)
        ]


class _Contents:
    """The different contents of open GPUs, each in a slot, and which GPUs have them; arrays have shape (slot, ...)."""

    def __init__(self, kinds: _Kinds) -> None:
        self._kinds = kinds
        self._slot: dict[_Content, int] = {}
        self.gpus: list[list[int]] = []
        """Heaps of the numbers of the GPUs with each content."""
        self.first = np.zeros(0, dtype=np.int64)
        """The lowest of these; NOBODY: there are none now."""
        self.used = np.zeros(0, dtype=np.int64)
        self.memory = np.zeros(0)
        self.residents = np.zeros(0, dtype=np.int64)
        self.kind = np.zeros((0, 1), dtype=np.int64)
        """Shape (slot, resident); -1: there is no such resident."""
        self.units = np.zeros((0, 1), dtype=np.int64)

    def add(self, content: _Content, number: int) -> None:
        """Gives a GPU a content."""
        slot = self._slot.setdefault(content, len(self.gpus))
        if slot == len(self.gpus):
            self.gpus.append([])
            self._make_room(slot + 1, len(content) + 1)
            self.used[slot] = sum(units for _, units in content)
            self.memory[slot] = sum(self._kinds.memory[resident] for resident, _ in content)
            self.residents[slot] = len(content)
            self.kind[slot, : len(content)] = [resident for resident, _ in content]
            self.units[slot, : len(content)] = [units for _, units in content]
        heappush(self.gpus[slot], number)
        self.first[slot] = self.gpus[slot][0]

    def take(self, slot: int) -> int:
        """Takes the first GPU with a content away, and returns its number."""
        number = heappop(self.gpus[slot])
        self.first[slot] = self.gpus[slot][0] if self.gpus[slot] else NOBODY
        return number

    def that_admit(self, kind: int) -> Ints:
        """Returns the slots in which shares alone, memory and MPS clients leave room for a kind, first GPUs first."""
        kinds, mps = self._kinds, self._kinds.mps
        slots = np.flatnonzero(
            (self.first < NOBODY)
            & (self.used + kinds.units[kind] <= mps.capacity_units)
            & (self.memory + kinds.memory[kind] <= mps.memory_mib)
            & (self.residents < mps.clients)
        )
        return slots[np.argsort(self.first[slots])]

    def _make_room(self, slots: int, width: int) -> None:
        """Has the arrays hold so many slots, and contents of so many residents."""
        more = max(slots, len(self.first)) if slots > len(self.first) else 0
        wider = max(width - self.kind.shape[1], 0)
        if more or wider:
            self.kind = np.pad(self.kind, ((0, more), (0, wider)), constant_values=-1)
            self.units = np.pad(self.units, ((0, more), (0, wider)))
        if more:
            self.first = np.pad(self.first, (0, more), constant_values=NOBODY)
            self.used, self.memory = np.pad(self.used, (0, more)), np.pad(self.memory, (0, more))
            self.residents = np.pad(self.residents, (0, more))


NOBODY = 1 << 62
"""A number that no GPU has."""

_Known = dict[tuple[int, int], list[int] | None]
"""Shares on the GPU of a slot with one more of a kind, by (slot, kind); None: they do not fit."""


def _placed(kinds: _Kinds, fit: Fit) -> tuple[list[_Content], list[tuple[int, int]]]:
    """Returns the contents of the GPUs, in the order in which they were opened, and (kind, GPU) of each placement."""
    gpus: list[_Content] = []
    arrivals: list[tuple[int, int]] = []
    contents = _Contents(kinds)
    known: _Known = {}
    for kind in kinds.order:
        host = _host(kinds, contents, kind, fit, known)
        if host is None:
            number = len(gpus)
            gpus.append(((kind, kinds.units[kind]),))
        else:
            slot, units = host
            number = contents.take(slot)
            gpus[number] = tuple(zip([*(resident for resident, _ in gpus[number]), kind], units, strict=True))
        arrivals.append((kind, number))
        contents.add(gpus[number], number)
    return gpus, arrivals


def _host(kinds: _Kinds, contents: _Contents, kind: int, fit: Fit, known: _Known) -> tuple[int, list[int]] | None:
    """Returns the slot of the GPUs that take one more of a kind, and the shares there then; None: it fits on none."""
    slots = contents.that_admit(kind)
    if fit == "first-ignoring-interference" and slots.size:
        own = contents.units[slots[0], : contents.residents[slots[0]]].tolist()
        return int(slots[0]), [*own, kinds.units[kind]]
    shares = _shares(kinds, contents, slots, kind, known) if slots.size else []
    fitting = [(slot, units) for slot, units in shares if units is not None]
    if not fitting:
        return None
    # Of equal growth the first GPU.
    return fitting[0] if fit == "first" else min(fitting, key=lambda one: sum(one[1]) - int(contents.used[one[0]]))


def _shares(
    kinds: _Kinds, contents: _Contents, slots: Ints, kind: int, known: _Known
) -> list[tuple[int, list[int] | None]]:
    """Returns the shares in each of some slots with one more of a kind; None: they do not fit."""
    if len(kinds.members[kind]) == 1:  # nobody asks again
        return _found(kinds, contents, slots, kind)
    unknown = [slot for slot in slots.tolist() if (slot, kind) not in known]
    if unknown:
        new = _found(kinds, contents, np.array(unknown, dtype=np.int64), kind)
        known.update(((slot, kind), units) for slot, units in new)
    return [(slot, known[slot, kind]) for slot in slots.tolist()]


def _found(kinds: _Kinds, contents: _Contents, slots: Ints, kind: int) -> list[tuple[int, list[int] | None]]:
    """As `_shares`, found anew for all slots at once."""
    units, fits = kinds.with_one_more(contents, slots, kind)
    rows = zip(slots.tolist(), units.tolist(), fits.tolist(), contents.residents[slots].tolist(), strict=True)
    return [(slot, own[: residents + 1] if fit else None) for slot, own, fit, residents in rows]


PLANNERS = (
    Igniter("igniter", "iGniter (IEEE TPDS 2023), alg. 1 and 2", "least-interference"),
    Igniter("ffd", "iGniter (IEEE TPDS 2023), sec. 5.1: FFD+, ignores interference", "first-ignoring-interference"),
    Igniter("ffd-interference", "iGniter (IEEE TPDS 2023), sec. 5.3: FFD++, first fit with alg. 2", "first"),
    Igniter(
        "igniter-least-batch",
        "ours: iGniter's alg. 1 and 2, with the batch size of the least share instead of eq. 17",
        "least-interference",
        least_share_batches,
    ),
    Igniter(
        "ffd-interference-least-batch",
        "ours: FFD++ of iGniter, with the batch size of the least share instead of eq. 17",
        "first",
        least_share_batches,
    ),
)
