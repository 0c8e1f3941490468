"""
A most valuable set of workloads where what a service's partitions carry is no sum (latency_rules/server_sets.py).

No set that a fleet serves is worth more than the most valuable one of the looser problem (performance/loosest.py). What
is served is the best of that one's choice, if sets of partitions are found that hold it (fleet/server_sets.py), of the
same with a service less, those of least value first, and of what weighted turns serve, which holds with better routers.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ...allocation.allocated import MpsGpu
from ...performance.loosest import loosest
from ...performance.resolve import ResolvedProblem
from ...performance.unservable import unservable_by_sums
from ..fleet.server_sets import solve_for_sets
from .most_valuable import MostValuable, most_valuable

FOR_THE_LIMIT, FOR_TURNS = 0.35, 0.5
"""Parts of the time for what nothing exceeds, and of what is left then for what turns serve."""

TRIES = 12
"""Choices with a service less that are tried."""


def most_valuable_sets(
    resolved: ResolvedProblem,
    *,
    known: Iterable[Sequence[MpsGpu]] = (),
    on_answer: Callable[[MostValuable], None],
    time_limit_s: float,
) -> MostValuable:
    """Returns the workloads to serve for most value; arguments as for `most_valuable`."""
    deadline = time.monotonic() + time_limit_s
    worth = [workload.worth for workload in resolved.problem.workloads]
    limit = most_valuable(
        loosest(resolved),
        on_answer=lambda found: on_answer(MostValuable([], found.most)),
        time_limit_s=FOR_THE_LIMIT * time_limit_s,
    )
    lost = {one.workload for one in unservable_by_sums(resolved)}
    kept = [w for w, workload in enumerate(resolved.problem.workloads) if workload.name not in lost]

    def of_all(found: MostValuable) -> MostValuable:
        return replace(found, served=[kept[i] for i in found.served], most=limit.most)

    best = MostValuable([], limit.most)
    if kept:
        best = of_all(
            most_valuable(
                resolved.restricted_to(kept),
                known=known if len(kept) == len(worth) else (),
                on_answer=lambda found: on_answer(of_all(found)),
                time_limit_s=FOR_TURNS * (deadline - time.monotonic()),
            )
        )
    if resolved.mps:
        return best
    for served in _choices(worth, limit.served, sum(worth[w] for w in best.served)):
        left = deadline - time.monotonic()
        if left < 0.1:
            break
        found = _served_by_sets(resolved, served, limit.most, left / 2)
        if found is not None:
            return found
    return best


def _choices(worth: Sequence[float], served: list[int], known: float) -> Iterator[list[int]]:
    """Yields the choice, and the most valuable ones with a service less, all worth more than what is known."""
    total = sum(worth[w] for w in served)
    if total <= known:
        return
    yield served
    for w in sorted(served, key=lambda w: worth[w])[:TRIES]:
        if total - worth[w] > known and len(served) > 1:
            yield [other for other in served if other != w]


def _served_by_sets(
    resolved: ResolvedProblem, served: list[int], most: float, time_limit_s: float
) -> MostValuable | None:
    """Returns a choice with GPUs whose sets hold it; None: none were found."""
    found = solve_for_sets(resolved.restricted_to(served), any_plan=True, time_limit_s=time_limit_s)
    return MostValuable(served, most, found.gpus, found.points) if found.has_plan else None
