"""
Verification of partitions that are kept free: every case of trouble is tried, or a sample where there are too many.

Recourse as in exact/spare_capacity.py, whose code is not used here: what runs stays; a free partition of a size takes
one partition of that size.
"""

import random
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import accumulate, combinations, product
from math import ceil, comb

from ..model.catalogue import load_catalogue
from ..model.plan import Plan
from ..model.problem import Problem, Workload
from ..model.profile import Profile
from ..performance.prediction import Prediction
from .violation import RELATIVE, Violation

MOST_CASES = 2_000
"""Sets of services that are tried; of more, so many are drawn at random, the same at every check."""

Size = tuple[str, str | None]
"""GPU type and MIG profile; None: the whole GPU."""

Predict = Callable[[str, str, str | None, int, int], Prediction | None]


Points = Callable[[str, tuple[int, ...] | None, float | None, Size], tuple[list[float], list[float]]]
"""Of a model, its batch sizes and memory on a size: latencies, rising, and the greatest throughput up to each."""


def wrong_spares(
    problem: Problem, plan: Plan, profiles: Mapping[tuple[str, str], Profile], predict: Predict
) -> Iterator[Violation]:
    """Yields every case of trouble that the free partitions of a plan do not meet."""
    settings = problem.settings
    if settings.spare_gpu_loss:
        yield from _unmet_losses(plan)
    if settings.spare_services and settings.spare_rate:
        yield from _unmet_rates(problem, plan, profiles, predict)


def _unmet_losses(plan: Plan) -> Iterator[Violation]:
    free = _free(plan)
    for gpu in plan.gpus:
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


def _unmet_rates(
    problem: Problem, plan: Plan, profiles: Mapping[tuple[str, str], Profile], predict: Predict
) -> Iterator[Violation]:
    settings, free = problem.settings, _free(plan)
    points = _points_of(problem, profiles, predict)
    capacity: defaultdict[str, float] = defaultdict(float)
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            for served in partition.serves:
                capacity[served.workload] += served.capacity_rps
    needs: dict[str, list[Counter[Size]]] = {}
    for workload in problem.workloads:
        wanted = workload.rate_rps * (1 + settings.headroom) * (1 + settings.spare_rate)
        missing = wanted * (1 - RELATIVE) - capacity[workload.name]
        if missing > 0:
            rates = {size: _best_rps(problem, workload, size, points) for size in free}
            needs[workload.name] = _ways(missing, rates, free)
    for services in _cases(list(needs), min(settings.spare_services, len(needs))):
        if not _all_placed([needs[name] for name in services], free):
            yield Violation(
                "plan",
                f"if {', '.join(services)} need {settings.spare_rate:.0%} more rate at once, too few are free",
            )


def _free(plan: Plan) -> Counter[Size]:
    return Counter(
        (gpu.gpu, partition.mig_profile) for gpu in plan.gpus for partition in gpu.partitions if not partition.serves
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


def _ways(missing: float, rates: Mapping[Size, float], free: Mapping[Size, int]) -> list[Counter[Size]]:
    """Returns the sets of free partitions that carry a rate, none of them with one to spare."""
    sizes = [size for size, rate in rates.items() if rate > 0]
    ranges = [range(min(free[size], ceil(missing / rates[size])) + 1) for size in sizes]
    found = []
    for counts in product(*ranges):
        carried = sum(count * rates[size] for count, size in zip(counts, sizes, strict=True))
        if carried < missing:
            continue
        if all(not count or carried - rates[size] < missing for count, size in zip(counts, sizes, strict=True)):
            found.append(Counter({size: count for count, size in zip(counts, sizes, strict=True) if count}))
    return found


def _all_placed(needs: list[list[Counter[Size]]], free: Counter[Size]) -> bool:
    """Tells whether each service can have one of its ways, all at once."""
    if not needs:
        return True
    return any(
        all(free[size] >= count for size, count in way.items()) and _all_placed(needs[1:], free - way)
        for way in needs[0]
    )


def _best_rps(problem: Problem, workload: Workload, size: Size, points: Points) -> float:
    """Returns the greatest throughput of a workload on a size within its SLO; every operating point is tried."""
    if workload.gpus is not None and size[0] not in workload.gpus:
        return 0.0
    latency_ms, rps = points(workload.model, workload.batch_sizes, workload.memory_mib, size)
    limit_ms = workload.slo_ms * problem.settings.slo_fraction
    within = bisect_right(latency_ms, limit_ms * (1 + RELATIVE))
    return rps[within - 1] if within else 0.0


def _points_of(problem: Problem, profiles: Mapping[tuple[str, str], Profile], predict: Predict) -> Points:
    """Returns what looks up the operating points of services that are alike once for all of them."""

    @cache
    def points(
        model: str, batch_sizes: tuple[int, ...] | None, memory_mib: float | None, size: Size
    ) -> tuple[list[float], list[float]]:
        gpu, mig = size
        profile, facts = profiles.get((model, gpu)), load_catalogue()[gpu]
        if profile is None:
            return [], []
        instance = facts.mig.profile(mig) if facts.mig and mig else None
        capacity_mib = instance.memory_mib if instance else facts.memory_mib
        greatest = max([1, *(point.batch for point in profile.points), *(curve.max_batch for curve in profile.curves)])
        if profile.interference is not None:
            greatest = max(greatest, profile.interference.measured.max_batch)
        found = []
        for processes in range(1, min(problem.settings.max_processes, facts.mps_client_limit(instance)) + 1):
            for batch in batch_sizes or range(1, greatest + 1):
                point = predict(model, gpu, mig, batch, processes)
                if point is None:
                    continue
                needed = point.memory_mib if memory_mib is None else memory_mib * processes
                if needed is None or capacity_mib is None or needed <= capacity_mib:
                    found.append((point.latency_ms, point.capacity_rps))
        found.sort()
        return [latency for latency, _ in found], list(accumulate((rps for _, rps in found), max))

    return points


def _text(size: Size) -> str:
    return f"{size[0]} {size[1]}" if size[1] else f"whole {size[0]}"
