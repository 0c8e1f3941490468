"""
Plans around what runs where GPUs are shared by MPS: some GPUs are cleared of all that runs there, the others stay.

A service is open if it is to be placed anew: it is new, or some running partition of it may not or does not stay. Who
is not open stays whole, where and as it runs. A plan of some open services has, in this order,

1. the running GPUs without them. Nobody who stays is slower than before: whoever leaves a GPU under MPS disturbs no
   more, and partitions of a cut GPU do not disturb each other;
2. those of them that find room beside who stays under MPS, at the shares that run there (mps/fixed_shares.py);
3. further GPUs for the rest, by a search that is given.

At first as few are open as need be: those of whom partitions may not stay or carry too little now. Then GPUs, or a few
together, are cleared, those first that are used least, as long as what the plan costs with its moves falls, or its
moves do at the same total. A service is moved if a running partition of it does not stay: one that is open and
comes to the place, batch size and share that it has is not. Where rates add up (by the rule of execution) a service
that may have more replicas and carries too little stays, and what is missing of its rate is placed as a service is.

Nothing is proven here. A plan of the exact search without regard to what runs (`made_anew`) stands beside these.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...allocation.allocated import AllocatedGpu, MpsGpu, renumbered
from ...performance.interference.prediction import Floats, Ints
from ...performance.latency_rules.execution import Execution
from ...performance.resolve import ResolvedProblem
from ..cost_lattice import NO_GAP
from ..mps.fixed_shares import ROUNDING, carried_rps, has_room, least_resident
from .running import KeptGpu, RunningGpu

Standing = RunningGpu | MpsGpu
"""A running GPU, with those of its partitions that may stay."""

Solve = Callable[[ResolvedProblem, float], Sequence[AllocatedGpu] | None]
"""Serves a problem within seconds; None: it found no plan."""

SIZES = (1, 2, 3, 4, 6, 8)
"""How many GPUs are cleared together: more of them when fewer are not worth it."""

TRIED = 8
"""GPUs on which room is looked for, for each service, those first that have least."""

OF_WHAT_IS_LEFT, EACH_S = 0.25, 2.0
"""Part of the time that is left that one search for further GPUs may take, and seconds at most."""


@dataclass(frozen=True, eq=False)
class Around:
    """A plan around what runs."""

    open: frozenset[int]
    kept: tuple[KeptGpu, ...]
    """Cut GPUs on which something stays."""
    placed: tuple[tuple[AllocatedGpu, int | None], ...]
    """All others, each with the number of the running GPU that it is; None: another one."""
    moved: frozenset[int]
    cost: float
    """USD per hour."""

    def total(self, move_price: float) -> float:
        """Returns the USD per hour that it costs with its moves."""
        return self.cost + move_price * len(self.moved)


class ClearedGpus:
    """Plans around what runs."""

    def __init__(
        self, resolved: ResolvedProblem, standing: Sequence[Standing], must_move: frozenset[int], batches: "Batches"
    ) -> None:
        """
        Takes what runs.

        Parameters
        ----------
        must_move
            Services that run and of which some partition may not stay; none of theirs is among `standing`.
        batches
            Returns the batch sizes that a workload may have as the only resident of a GPU type that serves it; none: it
            has several, or is not served there.
        """
        self._resolved, self._standing, self._must_move, self._batches = resolved, tuple(standing), must_move, batches
        self._runs = must_move | {w for gpu in standing for w in gpu.workloads}
        self._price = {entry.gpu.name: entry.price_per_hour for entry in resolved.fleet}

    @cached_property
    def first_open(self) -> frozenset[int]:
        """Who has to be open: as few as are found."""
        every = range(len(self._resolved.required_rps))
        open_ = {w for w in every if w not in self._runs} | self._must_move
        while True:
            here = self._without(open_)
            if not (short := self._short(here)):
                return frozenset(open_)
            open_ |= short

    def with_open(self, open_: frozenset[int], solve: Solve, time_limit_s: float) -> Around | None:
        """Returns a plan in which all stay who are not open; None: none was found."""
        here = self._without(open_)
        asked = self._asked(here, open_)
        rest = self._joined(here, asked)
        used = Counter(gpu.gpu for gpu in here.values())
        fleet = []
        for entry in self._resolved.fleet:
            left = None if entry.available is None else entry.available - used[entry.gpu.name]
            if left is not None and left < 0:
                return None
            fleet.append(replace(entry, available=left))
        part = replace(_asking(self._resolved, {w: asked[w] for w in rest}), fleet=tuple(fleet))
        new = solve(part, time_limit_s) if rest else ()
        if new is None:
            return None
        kept = tuple(KeptGpu(i, gpu.partitions, ()) for i, gpu in here.items() if isinstance(gpu, RunningGpu))
        placed = [(gpu, i) for i, gpu in here.items() if isinstance(gpu, MpsGpu)]
        others = [renumbered(gpu, rest) for gpu in new]
        return self._around(open_, kept, [*placed, *self._matched(others, set(here))])

    def made_anew(self, gpus: Sequence[AllocatedGpu]) -> Around:
        """Returns a plan made without regard to what runs, on the running GPUs under MPS that are most alike."""
        return self._around(frozenset(range(len(self._resolved.required_rps))), (), self._matched(gpus, set()))

    def better(
        self,
        best: Around,
        solve: Solve,
        *,
        move_price: float,
        most_moves: int | None,
        least: float | None,
        on_better: Callable[[Around], None],
        deadline: float,
    ) -> Around:
        """
        Returns the best plan that clearing GPUs gives.

        Parameters
        ----------
        least
            What no plan costs less than with its moves, USD per hour; None: unknown.
        deadline
            As time.monotonic() has it.
        """
        draw, tried, at = random.Random(0), set[frozenset[int]](), 0
        while at < len(SIZES) and (least is None or best.total(move_price) > least * (1 + NO_GAP)):
            for group in self._groups(best, SIZES[at], draw):
                left = deadline - time.monotonic()
                if left <= 0:
                    return best
                open_ = best.open | {w for i in group for w in self._standing[i].workloads}
                # What comes back to where it is cannot be told beforehand, so it counts as moved here.
                moves = len(open_ & self._runs)
                worth = sum(self._price[self._standing[i].gpu] for i in group)
                too_many = most_moves is not None and moves > most_moves
                if open_ in tried or too_many or move_price * (moves - len(best.moved)) >= worth:
                    continue
                tried.add(open_)
                found = self.with_open(open_, solve, min(OF_WHAT_IS_LEFT * left, EACH_S))
                if found is not None and is_better(found, best, move_price, most_moves):
                    best = found
                    on_better(best)
                    at = -1
                    break
            at += 1
        return best

    def _groups(self, best: Around, size: int, draw: random.Random) -> Iterator[tuple[int, ...]]:
        """Yields numbers of running GPUs on which all stay who are not open, those first that are used least."""
        left = [i for i, gpu in enumerate(self._standing) if set(gpu.workloads) - best.open]
        left.sort(key=lambda i: self._used(self._standing[i]))
        if size > len(left):
            return
        for first in range(len(left)):
            yield (
                tuple(left[first : first + size])
                if first + size <= len(left)
                else (
                    left[first],
                    *draw.sample([*left[:first], *left[first + 1 :]], size - 1),
                )
            )
            if size > 1:
                yield (left[first], *draw.sample([*left[:first], *left[first + 1 :]], size - 1))

    def _used(self, gpu: Standing) -> float:
        """Returns how much of a GPU is used, about."""
        if isinstance(gpu, MpsGpu):
            return sum(one.percent for one in gpu.residents) / 100
        return sum(1 / 7 if self._resolved.sizes[one.size].mig else 1.0 for one in gpu.partitions)

    def _without(self, open_: Collection[int]) -> dict[int, Standing]:
        """Returns the running GPUs without those who are open, by number, as far as anything is left there."""
        found: dict[int, Standing] = {}
        for i, gpu in enumerate(self._standing):
            own: Standing
            if isinstance(gpu, MpsGpu):
                own = replace(gpu, residents=tuple(one for one in gpu.residents if one.workload not in open_))
            else:
                own = replace(gpu, partitions=tuple(one for one in gpu.partitions if one.workload not in open_))
            if own.workloads:
                found[i] = own
        return found

    def _carried(self, here: Mapping[int, Standing]) -> tuple[Floats, Counter[int], set[int]]:
        """Returns what stays of each service carries, its replicas, and which services have one that is too slow."""
        resolved = self._resolved
        shared = [gpu for gpu in here.values() if isinstance(gpu, MpsGpu)]
        carried = np.zeros(len(resolved.required_rps))
        replicas: Counter[int] = Counter()
        slow: set[int] = set()
        for gpu, rates in zip(shared, carried_rps(resolved, shared), strict=True):
            for one, rate in zip(gpu.residents, rates.tolist(), strict=True):
                carried[one.workload] += rate
                replicas[one.workload] += 1
                slow |= {one.workload} if rate <= 0 else set()
        for cut in here.values():
            for partition in cut.partitions if isinstance(cut, RunningGpu) else ():
                carried[partition.workload] += partition.capacity_rps
                replicas[partition.workload] += 1
        return carried, replicas, slow

    def _asked(self, here: Mapping[int, Standing], open_: Collection[int]) -> dict[int, "Asked"]:
        """Returns what is to be placed: services that are open, and what others lack."""
        resolved = self._resolved
        carried, replicas, _ = self._carried(here)
        found = {}
        for w, workload in enumerate(resolved.problem.workloads):
            required, number = float(resolved.required_rps[w]), replicas[w]
            missing = required if w in open_ else required - float(carried[w])
            if w in open_ or missing > ROUNDING * required:
                most = workload.max_replicas
                least = max(workload.min_replicas - number, 1)
                found[w] = Asked(missing / required, least, None if most is None else most - number)
        return found

    def _may_have_more(self, workload: int, replicas: int) -> bool:
        """Tells whether what is missing of a service's rate may be carried by further replicas."""
        resolved = self._resolved
        most = resolved.problem.workloads[workload].max_replicas
        adds_up = isinstance(resolved.rule, Execution) and resolved.problem.settings.mps_rules == "free"
        return adds_up and (most is None or replicas < most)

    def _short(self, here: Mapping[int, Standing]) -> set[int]:
        """
        Returns who cannot stay as all is, of each GPU one at most: the others may stay when that one has left.

        Of a service that carries too little that is the one that lacks most of its rate; of a GPU that has less than
        its residents take, the one with the largest share.
        """
        resolved = self._resolved
        carried, replicas, slow = self._carried(here)
        lacks = 1 - carried / resolved.required_rps
        for w, number in replicas.items():
            limits = resolved.problem.workloads[w]
            too_few = number < limits.min_replicas and not self._may_have_more(w, number)
            if too_few or number > (limits.max_replicas or number):
                lacks[w] = 2.0
            elif w in slow:
                lacks[w] = 1.0
            elif self._may_have_more(w, number):
                lacks[w] = 0.0
        found = set()
        for gpu in here.values():
            worst = max(gpu.workloads, key=lambda w: lacks[w])
            if lacks[worst] > ROUNDING:
                found.add(worst)
            elif isinstance(gpu, MpsGpu) and not has_room(resolved.mps[gpu.gpu], gpu):
                found.add(max(gpu.residents, key=lambda one: one.percent).workload)
        return found

    def _joined(self, here: dict[int, Standing], asked: Mapping[int, "Asked"]) -> list[int]:
        """Places what is asked for beside who stays, where there is room; returns what is left, rising."""
        resolved, left = self._resolved, sorted(asked)
        replicas = Counter(w for gpu in here.values() for w in gpu.workloads)
        hosts = [
            i
            for i, gpu in here.items()
            if isinstance(gpu, MpsGpu) and all(replicas[w] == 1 and w not in asked for w in gpu.workloads)
        ]
        if not hosts:
            return left
        alone = np.array([min(self._alone_units(gpu, w, asked[w]) for gpu in resolved.mps) for w in left])
        for at in np.argsort(-alone, kind="stable").tolist():
            w = left[at]
            if not np.isfinite(alone[at]) or asked[w].least_replicas > 1:
                continue
            by_room = sorted((room, i) for i in hosts if (room := self._room(here[i])) >= alone[at])
            for _, i in by_room[:TRIED]:
                host = here[i]
                assert isinstance(host, MpsGpu)
                guest = least_resident(resolved, host, w, self._batches(host.gpu, w), asked[w].part)
                if guest is not None:
                    here[i] = replace(host, residents=(*host.residents, guest))
                    left[at] = -1
                    # Where it is one of several, what each carries is not known of a GPU alone.
                    hosts = hosts if asked[w].part == 1 else [one for one in hosts if one != i]
                    break
        return [w for w in left if w >= 0]

    def _alone_units(self, gpu: str, workload: int, asked: "Asked") -> float:
        mps = self._resolved.mps[gpu]
        guest = least_resident(self._resolved, MpsGpu(gpu, ()), workload, self._batches(gpu, workload), asked.part)
        return np.inf if guest is None else round(guest.percent / mps.unit_percent)

    def _room(self, gpu: Standing) -> int:
        assert isinstance(gpu, MpsGpu)
        mps = self._resolved.mps[gpu.gpu]
        return mps.capacity_units - sum(round(one.percent / mps.unit_percent) for one in gpu.residents)

    def _matched(self, gpus: Sequence[AllocatedGpu], taken: set[int]) -> list[tuple[AllocatedGpu, int | None]]:
        """Returns GPUs with numbers of running ones that are not taken, so that most residents are where they run."""
        from scipy.optimize import linear_sum_assignment  # takes long to load

        found: list[tuple[AllocatedGpu, int | None]] = []
        for name in dict.fromkeys(gpu.gpu for gpu in gpus):
            own = [gpu for gpu in gpus if gpu.gpu == name]
            there = [
                (i, set(gpu.residents))
                for i, gpu in enumerate(self._standing)
                if isinstance(gpu, MpsGpu) and gpu.gpu == name and i not in taken
            ]
            alike: Floats = np.array(
                [
                    [len(runs.intersection(gpu.residents)) if isinstance(gpu, MpsGpu) else 0 for _, runs in there]
                    for gpu in own
                ],
                dtype=np.float64,
            ).reshape(len(own), len(there))
            number: dict[int, int] = {}
            if alike.any():
                rows, columns = linear_sum_assignment(-alike)
                number = {
                    int(r): there[int(c)][0] for r, c in zip(rows, columns, strict=True) if alike[int(r), int(c)] > 0
                }
            found += [(gpu, number.get(row)) for row, gpu in enumerate(own)]
        return found

    def _around(
        self,
        open_: frozenset[int],
        kept: tuple[KeptGpu, ...],
        placed: Sequence[tuple[AllocatedGpu, int | None]],
    ) -> Around:
        stays: dict[int, set[object]] = {one.number: set(one.kept) for one in kept}
        stays |= {i: set(gpu.residents) for gpu, i in placed if i is not None and isinstance(gpu, MpsGpu)}
        gone = set(self._must_move)
        for i, gpu in enumerate(self._standing):
            runs = gpu.residents if isinstance(gpu, MpsGpu) else gpu.partitions
            gone |= {one.workload for one in runs if one not in stays.get(i, ())}
        cost = sum(self._price[self._standing[one.number].gpu] for one in kept)
        cost += sum(self._price[gpu.gpu] for gpu, _ in placed)
        return Around(open_, kept, tuple(placed), frozenset(gone), cost)


Batches = Callable[[str, int], Ints]
"""Returns batch sizes by GPU type and workload."""


@dataclass(frozen=True)
class Asked:
    """What is to be placed of a service."""

    part: float
    """Of its rate; 1: all of it."""
    least_replicas: int
    most_replicas: int | None


def _asking(resolved: ResolvedProblem, asked: Mapping[int, Asked]) -> ResolvedProblem:
    """Returns the problem of these services, in their order, of which some have a part of their rate left."""
    part = resolved.restricted_to(list(asked))
    if all(one.part == 1 for one in asked.values()):
        return part
    workloads = tuple(
        workload
        if one.part == 1
        else workload.model_copy(
            update={
                "rate_rps": workload.rate_rps * one.part,
                "min_replicas": one.least_replicas,
                "max_replicas": one.most_replicas,
            }
        )
        for workload, one in zip(part.problem.workloads, asked.values(), strict=True)
    )
    parts = np.array([one.part for one in asked.values()])
    problem = part.problem.model_copy(update={"workloads": workloads})
    return replace(part, problem=problem, required_rps=part.required_rps * parts)


def is_better(one: Around, other: Around | None, move_price: float, most_moves: int | None) -> bool:
    """Tells whether a plan may be taken and costs less with its moves than another, or as much with fewer of them."""
    if most_moves is not None and len(one.moved) > most_moves:
        return False
    if other is None:
        return True
    total, least = one.total(move_price), other.total(move_price)
    if total > least * (1 + NO_GAP):
        return False
    return total < least * (1 - NO_GAP) or len(one.moved) < len(other.moved)
