"""
Verification of partitions that are kept free: every case of trouble is tried, or a sample where there are too many.

Recourse as in exact/mig/spare_capacity.py, whose code is not used here: what runs stays; a free partition of a size
takes one partition of that size. What shares under MPS take over: free_shares.py.
"""

import random
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, combinations
from math import ceil, comb

import numpy as np

from ..metrics.plan_columns import Floats, PlanColumns
from ..model.catalogue import load_catalogue
from ..model.naming import SERVICES
from ..model.plan import Plan
from ..model.problem import Problem, Workload
from ..model.profile import Profile
from ..performance.prediction import predict_batches
from .free_shares import free_shares, share_rps, unmet_share_losses
from .latency import OnPartitions, execution_may_take_ms, promised_rps
from .together import promised_in_turns
from .violation import RELATIVE, Violation

MOST_CASES = 2_000
"""Sets of services that are tried; of more, so many are drawn at random, the same at every check."""

Size = tuple[str, str | None]
"""GPU type and MIG profile, or a share under MPS; None: the whole GPU."""


@dataclass(frozen=True, eq=False)
class OnSize:
    """The operating points of a model on a size, by rising latency."""

    latency_ms: list[float]
    greatest_rps: list[float]
    """The greatest throughput up to each."""
    points: Floats
    """Shape (4, point): batch, processes, latency, throughput."""


Points = Callable[[str, tuple[int, ...] | None, float | None, Size], OnSize]
"""Of a model, its batch sizes and memory on a size."""


def wrong_spares(
    problem: Problem, plan: Plan, profiles: Mapping[tuple[str, str], Profile], columns: PlanColumns
) -> Iterator[Violation]:
    """Yields every case of trouble that the free partitions of a plan do not meet."""
    settings = problem.settings
    if settings.spare_gpu_loss:
        yield from _unmet_losses(plan)
        yield from unmet_share_losses(plan)
    if settings.spare_services and settings.spare_rate:
        yield from _unmet_rates(problem, plan, profiles, columns)


def _unmet_losses(plan: Plan) -> Iterator[Violation]:
    free = _free(plan)
    for gpu in (one for one in plan.gpus if one.sharing != "mps"):
        used: Counter[Size] = Counter()
        own: Counter[Size] = Counter()
        for partition in gpu.partitions:
            (used if partition.serves else own)[gpu.gpu, partition.mig_profile] += 1
        for size, count in used.items():
            elsewhere = free[size] - own[size]
            if elsewhere < count:
                yield Violation(
                    gpu.id,
                    f"if it is lost, {count} x {_text(size)} need a place; {elsewhere} are kept free elsewhere",
                )


def _carried(plan: Plan) -> defaultdict[str, float]:
    """Returns what the partitions of each service are promised in all."""
    carried: defaultdict[str, float] = defaultdict(float)
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            for served in partition.serves:
                carried[served.workload] += served.carries_rps
    return carried


def _unmet_rates(
    problem: Problem, plan: Plan, profiles: Mapping[tuple[str, str], Profile], columns: PlanColumns
) -> Iterator[Violation]:
    """
    Yields which services cannot all have more rate at once.

    Where what partitions carry is no sum, a service's own and those that come to it count as in weighted turns, which
    better routers keep too; or its own are enough by what they carry together, whatever comes to them.
    """
    settings, shares = problem.settings, free_shares(problem, plan, profiles)
    free = _free(plan) + shares
    points = _points_of(problem, profiles)
    capacity = _carried(plan)
    in_turns = promised_in_turns(problem, columns)
    needs: dict[str, Need] = {}
    for w, workload in enumerate(problem.workloads):
        wanted = workload.rate_rps * (1 + settings.headroom) * (1 + settings.spare_rate)
        missing = wanted * (1 - RELATIVE) - capacity[workload.name]
        if missing > 0 and in_turns is not None:
            missing = wanted * (1 - RELATIVE) - float(in_turns[columns.workload == w].sum())
        if missing > 0:
            on_shares = [(one, share_rps(problem, workload, one, profiles)) for one in shares]
            rates = [(one, _best_rps(problem, workload, one, points)) for one in free if one not in shares] + on_shares
            needs[workload.name] = Need(missing, tuple((size, rate) for size, rate in rates if rate > 0))
    for services in _cases(list(needs), min(settings.spare_services, len(needs))):
        if not all_placed([needs[name] for name in services], free):
            yield Violation(
                "plan",
                f"if {SERVICES} need {settings.spare_rate:.0%} more rate at once, too few are free",
                named=services,
            )


def _free(plan: Plan) -> Counter[Size]:
    return Counter(
        (gpu.gpu, partition.mig_profile)
        for gpu in plan.gpus
        for partition in gpu.partitions
        if gpu.sharing != "mps" and not partition.serves
    )


def _cases(names: list[str], size: int) -> Iterator[tuple[str, ...]]:
    if size == 0:
        return
    if comb(len(names), size) <= MOST_CASES:
        yield from combinations(names, size)
        return
    draw = random.Random(0)
    for _ in range(MOST_CASES):
        yield tuple(draw.sample(names, size))


@dataclass(frozen=True)
class Need:
    """What a service needs more at once."""

    missing: float
    """Requests/s."""
    rates: tuple[tuple[Size, float], ...]
    """Sizes that can serve it, and what a partition of each carries."""

    def ways(self, free: Mapping[Size, int]) -> Iterator[Counter[Size]]:
        """Yields the sets of free partitions that carry it, none of them with one to spare."""
        return self._ways((), self.missing, free)

    def _ways(self, counts: tuple[int, ...], left: float, free: Mapping[Size, int]) -> Iterator[Counter[Size]]:
        """Those that begin with these counts of the first sizes, to which `left` is missing."""
        if left <= 0:
            taken = [(size, rate, count) for (size, rate), count in zip(self.rates, counts, strict=False) if count]
            if all(left + rate > 0 for _, rate, _ in taken):
                yield Counter({size: count for size, _, count in taken})
        elif len(counts) < len(self.rates):
            size, rate = self.rates[len(counts)]
            for count in range(min(ceil(left / rate), free[size]), -1, -1):
                yield from self._ways((*counts, count), left - count * rate, free)


def all_placed(needs: Sequence[Need], free: Counter[Size]) -> bool:
    """Tells whether each service can have one of its ways, all at once."""
    if not needs:
        return True
    return any(all_placed(needs[1:], free - way) for way in needs[0].ways(free))


def _best_rps(problem: Problem, workload: Workload, size: Size, points: Points) -> float:
    """Returns the greatest throughput of a workload on a size within its SLO; every operating point is tried."""
    if workload.gpus is not None and size[0] not in workload.gpus:
        return 0.0
    found, settings = points(workload.model, workload.batch_sizes, workload.memory_mib, size), problem.settings
    if settings.latency != "execution":
        quantile = settings.quantile if workload.slo_quantile is None else workload.slo_quantile
        asked = (workload.slo_ms, quantile, workload.rate_rps * (1 + settings.headroom))
        every = (np.full(found.points.shape[1], one) for one in asked)
        return float(promised_rps(settings, OnPartitions(*found.points, *every)).max(initial=0.0))
    limit_ms = execution_may_take_ms(problem.settings, workload.slo_ms)
    within = bisect_right(found.latency_ms, limit_ms * (1 + RELATIVE))
    return found.greatest_rps[within - 1] if within else 0.0


def _points_of(problem: Problem, profiles: Mapping[tuple[str, str], Profile]) -> Points:
    """Returns what looks up the operating points of services that are alike once for all of them."""

    @cache
    def points(model: str, batch_sizes: tuple[int, ...] | None, memory_mib: float | None, size: Size) -> OnSize:
        gpu, mig = size
        profile, facts = profiles.get((model, gpu)), load_catalogue()[gpu]
        if profile is None:
            return OnSize([], [], np.zeros((4, 0)))
        instance = facts.mig.profile(mig) if facts.mig and mig else None
        capacity_mib = instance.memory_mib if instance else facts.memory_mib
        largest = max([1, *(point.batch for point in profile.points), *(curve.max_batch for curve in profile.curves)])
        if profile.interference is not None:
            largest = max(largest, profile.interference.measured.max_batch)
        found = []
        for processes in range(1, min(problem.settings.max_processes, facts.mps_client_limit(instance)) + 1):
            sizes = batch_sizes or range(1, largest + 1)
            for batch, point in zip(sizes, predict_batches(profile, mig, sizes, processes), strict=True):
                if point is None:
                    continue
                needed = point.memory_mib if memory_mib is None else memory_mib * processes
                if needed is None or capacity_mib is None or needed <= capacity_mib:
                    found.append((point.latency_ms, point.capacity_rps, batch, processes))
        found.sort()
        columns = np.array(found, dtype=np.float64).reshape(-1, 4).T
        greatest = list(accumulate((rps for _, rps, _, _ in found), max))
        return OnSize(columns[0].tolist(), greatest, columns[[2, 3, 0, 1]])

    return points


def _text(size: Size) -> str:
    return f"{size[0]} {size[1]}" if size[1] else f"whole {size[0]}"
