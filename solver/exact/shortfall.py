"""
Why there are too few GPUs: which workloads cannot be served, and how many GPUs of which type would do.

The answer names a largest set of workloads that the fleet does serve (most_served.py); the others are unserved. How
many GPUs would do is the cutting stock without counts. Of many workloads, those are named that stand beyond the counts
in that plan.
"""

from collections import Counter
from dataclasses import replace

from ..model.plan import Unserved
from ..performance.resolve import ResolvedProblem
from .cutting_stock import solve_cutting_stock
from .decoding import cut_gpus
from .decomposition import solve_by_prices
from .most_served import most_served
from .shared_columns import enumerate_columns, item_tables
from .shared_items import shared_items
from .shared_program import PartBuilder, by_columns

MOST_FOR_LARGEST_SET = 3_000
"""Workloads up to which a largest set that can be served is looked for."""


def shortfall(resolved: ResolvedProblem, *, time_limit_s: float) -> list[Unserved]:
    """Returns the unserved workloads of a problem whose counts of GPUs are too small."""
    if len(resolved.required_rps) > MOST_FOR_LARGEST_SET:
        return _beyond_the_counts(resolved, time_limit_s)
    return _reasons(resolved, None, time_limit_s)


def _beyond_the_counts(resolved: ResolvedProblem, time_limit_s: float) -> list[Unserved]:
    """Returns the workloads that stand beyond the counts in a plan that ignores them."""
    endless = replace(resolved, fleet=tuple(replace(entry, available=None) for entry in resolved.fleet))
    answer = solve_by_prices(endless, time_limit_s=time_limit_s).answer
    if answer.patterns is None or answer.partitions is None:
        return [Unserved(workload=w.name, reason="there are too few GPUs") for w in resolved.problem.workloads]
    gpus = cut_gpus(endless, answer.patterns, answer.partitions)
    needed = Counter(gpu.gpu for gpu in gpus)
    enough = " and ".join(f"{count:,} x {gpu}" for gpu, count in needed.items())
    numbers: Counter[str] = Counter()
    beyond: set[int] = set()
    for gpu in gpus:
        available = resolved.fleet_by_name[gpu.gpu].available
        if available is not None and numbers[gpu.gpu] >= available:
            beyond.update(gpu.workloads)
        numbers[gpu.gpu] += 1
    reason = f"too few GPUs: {enough} would do for all {len(resolved.required_rps):,} workloads, and it stands beyond"
    return [
        Unserved(workload=resolved.problem.workloads[w].name, reason=f"{reason} {_counts(resolved)}")
        for w in sorted(beyond)
    ]


def _counts(resolved: ResolvedProblem) -> str:
    return ", ".join(f"{entry.available} x {entry.gpu.name}" for entry in resolved.fleet if entry.available is not None)


def shared_shortfall(resolved: ResolvedProblem, *, proven: bool, time_limit_s: float) -> list[Unserved]:
    """
    The same for a fleet of which some GPUs may be shared by MPS, and for workloads that its rules cannot serve.

    `proven`: that there is no plan; else the reasons say what was tried, and not what is.
    """
    shared = shared_items(resolved, parts=False)
    lost = [one for one in shared.classes if not one.recipes and not resolved.capacity_rps[one.members[0]].any()]
    if lost:
        rules = resolved.problem.settings.mps_rules
        tried = "allowed number of replicas" if proven else "number of replicas that was tried"
        reason = f"under mps_rules {rules} no {tried} serves it on the GPU types that it may use"
        names = [resolved.problem.workloads[w].name for one in lost for w in one.members]
        return [Unserved(workload=name, reason=reason) for name in names]
    columns = [column for table in item_tables(resolved, shared) for column in enumerate_columns(table).columns]
    feasible = [column for column in columns if column.batches is not None]
    return _reasons(resolved, by_columns(resolved, shared, feasible), time_limit_s, proven=proven)


def _reasons(
    resolved: ResolvedProblem, builder: PartBuilder | None, time_limit_s: float, *, proven: bool = True
) -> list[Unserved]:
    ones = [1.0] * len(resolved.required_rps)
    served = most_served(resolved, worth=ones, time_limit_s=time_limit_s, shared=builder).served
    without_counts = solve_cutting_stock(
        resolved, time_limit_s=time_limit_s, counts=False, shared=builder, fewest_slices=False
    )
    enough = "how many GPUs would do was not found within the time limit"
    if without_counts.patterns is not None:
        used: Counter[str] = Counter()
        for pattern, times in without_counts.patterns:
            used[pattern.gpu] += times
        for column, times in without_counts.shared.columns:
            used[column.gpu] += times
        would_do = " and ".join(f"{times} x {gpu}" for gpu, times in used.items())
        enough = f"{would_do} would do for all workloads"
    there_are = _counts(resolved)
    missing = [w for w, is_served in enumerate(served) if not is_served]
    no_place = "it has no place" if proven else "no place was found for it, which proves nothing"
    reason = f"{'too few GPUs: ' if proven else ''}beside the workloads that fit on {there_are} {no_place}; {enough}"
    return [Unserved(workload=resolved.problem.workloads[w].name, reason=reason) for w in missing]
