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

GPUs with equal contents are interchangeable but for their number, so what a workload does to a content is
computed once. With few kinds of workloads the time no longer grows with the number of GPUs.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Literal

import numpy as np

from ..decided import Resident, SharedGpu
from ..exact.first_fleet import keeps_limits
from ..exact.packed_residents import packed_on_each
from ..model.plan import Plan
from ..model.problem import Sharing
from ..performance.alone import alone_on
from ..performance.igniter_rules import Demand, demands
from ..performance.interference.least_shares import least_shares
from ..performance.mps_sharing import MpsType
from ..performance.resolve import FleetType, ResolvedProblem
from .single_type import Placed, cheapest_single_type

Fit = Literal["least-interference", "first", "first-ignoring-interference"]

BOTH_FITS: tuple[Fit, ...] = ("least-interference", "first")
"""The ways to fit of which each takes fewer GPUs than the other at times."""


class Igniter:
    """iGniter and the first-fit baselines that differ from it in where a workload goes."""

    sharing: tuple[Sharing, ...] = ("mps",)

    def __init__(self, name: str, source: str, fit: Fit) -> None:
        self.name = name
        self.source = source
        self.own_model = fit == "first-ignoring-interference"
        self._fit: Fit = fit

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        return cheapest_single_type(resolved, self.name, self._place, self.sharing)

    def _place(self, resolved: ResolvedProblem, entry: FleetType) -> Placed:
        return placed_by_igniter(resolved, resolved.mps[entry.gpu.name], fit=self._fit)


def placed_by_igniter(
    resolved: ResolvedProblem,
    mps: MpsType,
    *,
    fit: Fit = "least-interference",
) -> Placed:
    """Returns GPUs of one type that host all workloads, or the workloads that cannot be hosted."""
    asked = demands(resolved, mps)
    if isinstance(asked, list):
        return asked
    kinds = _Kinds(mps, asked.shared)
    gpus, arrivals = _placed(kinds, fit)
    dedicated = [
        SharedGpu(mps.gpu, (Resident(one.workload, one.batch, mps.percent_of(one.least_units)),))
        for one in asked.dedicated
    ]
    return [*dedicated, *kinds.named(gpus, arrivals)]


def placed_on_each(resolved: ResolvedProblem) -> Iterator[list[SharedGpu]]:
    """
    Yields GPUs that host all workloads, however many there are: of one type each, packed in a moment, then by iGniter.

    Each is looked for when it is asked for. Both ways to fit are known to take fewer GPUs than the other at times.
    """
    yield from packed_on_each(resolved)
    for fit in BOTH_FITS:
        for mps in resolved.mps.values():
            gpus = [one for one in placed_by_igniter(resolved, mps, fit=fit) if isinstance(one, SharedGpu)]
            if gpus:
                yield gpus


def hosted(resolved: ResolvedProblem) -> list[SharedGpu]:
    """Returns GPUs that host, on each type and by each way to fit, all workloads that the type can host."""
    return [gpu for name in resolved.mps for fit in BOTH_FITS for gpu in _hosted_by(resolved, name, fit)]


def _hosted_by(resolved: ResolvedProblem, name: str, fit: Fit) -> list[SharedGpu]:
    rows = np.flatnonzero(alone_on(resolved.mps[name], resolved.limit_ms).greatest_rps > 0)
    if not rows.size:
        return []
    own = resolved.restricted_to(rows.tolist())
    return [
        SharedGpu(name, tuple(replace(one, workload=int(rows[one.workload])) for one in gpu.residents))
        for gpu in placed_by_igniter(own, own.mps[name], fit=fit)
        if isinstance(gpu, SharedGpu)
    ]


def within_limits(resolved: ResolvedProblem, plans: Iterable[Sequence[SharedGpu]]) -> Iterator[Sequence[SharedGpu]]:
    """Yields those of the plans, each on GPUs of one type, that keep the counts of GPUs and the limits on replicas."""
    return (gpus for gpus in plans if keeps_limits(resolved, gpus))


_Content = tuple[tuple[int, int], ...]
"""Residents of a GPU in the order of their arrival: (kind, units)."""


class _Kinds:
    """The different demands, their least shares together, and which workloads are of which kind."""

    def __init__(self, mps: MpsType, shared: Sequence[Demand]) -> None:
        self.mps = mps
        key_of = [
            (one.batch, one.limit_ms, one.required_rps, one.memory_mib, *mps.model_key(one.workload)) for one in shared
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

    def with_one_more(self, contents: Sequence[_Content], kind: int) -> list[_Content | None]:
        """Returns each content with a workload of a kind beside its residents; None: they do not fit."""
        width = max(len(content) for content in contents) + 1
        shape = (len(contents), width)
        chosen, start = np.full(shape, -1, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, content in enumerate(contents):
            for column, (resident, units) in enumerate((*content, (kind, self.units[kind]))):
                chosen[row, column], start[row, column] = resident, units
        here = chosen >= 0
        least, fits = least_shares(
            self.mps.model,
            np.where(here, self._workload[chosen], -1),
            self._batch[chosen],
            self._limit[chosen],
            self._required[chosen],
            unit_percent=self.mps.unit_percent,
            capacity_units=self.mps.capacity_units,
            start=start,
        )
        return [
            tuple(zip(chosen[row, here[row]].tolist(), least[row, here[row]].tolist(), strict=True))
            if fits[row]
            else None
            for row in range(len(contents))
        ]

    def admits(self, content: _Content, kind: int) -> bool:
        """Tells whether shares alone, memory and MPS clients leave room for one more of a kind."""
        used = sum(units for _, units in content)
        memory = sum(self.memory[resident] for resident, _ in content)
        return (
            used + self.units[kind] <= self.mps.capacity_units
            and memory + self.memory[kind] <= self.mps.memory_mib
            and len(content) < self.mps.clients
        )

    def named(self, gpus: Sequence[_Content], arrivals: Sequence[tuple[int, int]]) -> list[SharedGpu]:
        """Returns the GPUs with workloads for kinds; arrivals are (kind, GPU) in the order of placement."""
        waiting = [iter(members) for members in self.members]
        residents: list[list[Demand]] = [[] for _ in gpus]
        for kind, number in arrivals:
            residents[number].append(next(waiting[kind]))
        return [
            SharedGpu(
                self.mps.gpu,
                tuple(
                    Resident(one.workload, one.batch, self.mps.percent_of(units))
                    for one, (_, units) in zip(own, content, strict=True)
                ),
            )
            for own, content in zip(residents, gpus, strict=True)
        ]


def _placed(kinds: _Kinds, fit: Fit) -> tuple[list[_Content], list[tuple[int, int]]]:
    """Returns the contents of the GPUs, in the order in which they were opened, and (kind, GPU) of each placement."""
    gpus: list[_Content] = []
    arrivals: list[tuple[int, int]] = []
    by_content: dict[_Content, list[int]] = {}
    grown: dict[tuple[_Content, int], _Content | None] = {}
    for kind in kinds.order:
        open_contents = [content for content in by_content if kinds.admits(content, kind)]
        if fit == "first-ignoring-interference":
            grown |= {(content, kind): (*content, (kind, kinds.units[kind])) for content in open_contents}
        elif unknown := [content for content in open_contents if (content, kind) not in grown]:
            results = kinds.with_one_more(unknown, kind)
            grown |= {(content, kind): result for content, result in zip(unknown, results, strict=True)}
        hosts = [content for content in open_contents if grown[content, kind] is not None]
        if not hosts:
            gpus.append(((kind, kinds.units[kind]),))
            arrivals.append((kind, len(gpus) - 1))
            heappush(by_content.setdefault(gpus[-1], []), len(gpus) - 1)
            continue
        if fit == "least-interference":
            host = min(
                hosts, key=lambda content: (_total(grown[content, kind]) - _total(content), by_content[content][0])
            )
        else:
            host = min(hosts, key=lambda content: by_content[content][0])
        number = heappop(by_content[host])
        arrivals.append((kind, number))
        if not by_content[host]:
            del by_content[host]
        gpus[number] = grown[host, kind] or ()
        heappush(by_content.setdefault(gpus[number], []), number)
    return gpus, arrivals


def _total(content: _Content | None) -> int:
    return sum(units for _, units in content or ())


PLANNERS = (
    Igniter("igniter", "iGniter (IEEE TPDS 2023), alg. 1 and 2", "least-interference"),
    Igniter("ffd", "iGniter (IEEE TPDS 2023), sec. 5.1: FFD+, ignores interference", "first-ignoring-interference"),
    Igniter("ffd-interference", "iGniter (IEEE TPDS 2023), sec. 5.3: FFD++, first fit with alg. 2", "first"),
)
