"""
Why there are too few GPUs: which workloads cannot be served, and how many GPUs of which type would do.

The answer names a largest set of workloads that the fleet does serve (most_valuable.py, all of the same value); the
others are unserved. How many GPUs would do is a plan without counts. What is not known in time is left out.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import tee

from ...allocation.allocated import AllocatedGpu, MpsGpu
from ...model.plan import Unserved
from ...performance.resolve import ResolvedProblem
from ..fleet.decomposition import solve_by_prices
from ..fleet.fleet_answer import price_of
from ..fleet.spare_fleet import solve_with_spares
from ..mig.cutting_stock import CuttingStockAnswer, solve_cutting_stock
from ..mig.spare_rules import spare_rules
from ..mps.columns import enumerate_columns, item_tables
from ..mps.items import mps_items
from ..mps.program import by_columns
from .most_valuable import MostValuable, most_valuable

COUNTING = 0.3
"""Part of the time for how many GPUs would do."""

ENOUGH_SERVED = 0.995
"""Part of the workloads that can be served at most at which a search for more of them ends: a reason names the rest."""

OnAnswer = Callable[[list[Unserved]], None]


def shortfall(
    resolved: ResolvedProblem,
    *,
    known: Iterable[Sequence[MpsGpu]] = (),
    proven: bool = True,
    on_answer: OnAnswer = lambda _: None,
    time_limit_s: float,
) -> list[Unserved]:
    """
    Returns the unserved workloads of a problem whose counts of GPUs are too small, or too small for what was tried.

    Parameters
    ----------
    known
        GPUs under MPS that serve all workloads, and are more than there are; looked for when they are asked for.
    proven
        That there is no plan; else the reasons say what was tried, and not what is.
    on_answer
        Called with what can be said so far; at first with a reason that all workloads share.
    """
    deadline = time.monotonic() + time_limit_s
    there_are = _counts(resolved)
    too_few = "too few GPUs" if proven else "no plan was found, which proves nothing"
    on_answer(_for_all(resolved, f"{too_few}: {there_are} for all services; no time was left to say for which"))
    if resolved.mps and (lost := _without_a_recipe(resolved, proven)):
        return lost
    for_counting, for_choosing = tee(known)
    enough = _enough(resolved, for_counting, COUNTING * time_limit_s)
    workloads = resolved.problem.workloads

    def reasons(found: MostValuable) -> list[Unserved]:
        served = set(found.served)
        is_largest = proven and len(served) >= found.most
        no_place = "it has no place" if is_largest else "no place was found for it"
        proves = "" if proven else ", which proves nothing"
        start = "too few GPUs: " if proven else ""
        reason = f"{start}beside the services that fit on {there_are} {no_place}{proves}; {enough}"
        return [Unserved(workload=one.name, reason=reason) for w, one in enumerate(workloads) if w not in served]

    found = most_valuable(
        _of_equal_value(resolved),
        known=for_choosing,
        enough=ENOUGH_SERVED,
        on_answer=lambda found: on_answer(reasons(found)),
        time_limit_s=deadline - time.monotonic(),
    )
    # At the edge of what fits, a solver with its tolerances may find a place for all that was proven impossible.
    return reasons(found) or _for_all(resolved, f"{too_few} by less than the solver's tolerance: {there_are}; {enough}")


def _for_all(resolved: ResolvedProblem, reason: str) -> list[Unserved]:
    return [Unserved(workload=workload.name, reason=reason) for workload in resolved.problem.workloads]


def _counts(resolved: ResolvedProblem) -> str:
    counts = [f"{entry.available:,} x {entry.gpu.name}" for entry in resolved.fleet if entry.available is not None]
    kept = " with what is to be kept free (spare_services, spare_gpu_loss)"
    return ", ".join(counts) + (kept if resolved.problem.settings.keeps_spares else "")


def _of_equal_value(resolved: ResolvedProblem) -> ResolvedProblem:
    workloads = tuple(workload.model_copy(update={"value": 1.0}) for workload in resolved.problem.workloads)
    return replace(resolved, problem=resolved.problem.model_copy(update={"workloads": workloads}))


def _without_a_recipe(resolved: ResolvedProblem, proven: bool) -> list[Unserved]:
    """Returns the workloads that the rules of MPS keep from every GPU."""
    shared = mps_items(resolved, parts=False)
    lost = [one for one in shared.classes if not one.recipes and not resolved.capacity_rps[one.members[0]].any()]
    tried = "allowed number of replicas" if proven else "number of replicas that was tried"
    reason = (
        f"under mps_rules {resolved.problem.settings.mps_rules} no {tried} serves it on the GPU types that it may use"
    )
    names = [resolved.problem.workloads[w].name for one in lost for w in one.members]
    return [Unserved(workload=name, reason=reason) for name in names]


def _enough(resolved: ResolvedProblem, known: Iterable[Sequence[AllocatedGpu]], time_limit_s: float) -> str:
    """Returns which GPUs would do, in words."""
    deadline = time.monotonic() + time_limit_s
    endless = replace(resolved, fleet=tuple(replace(entry, available=None) for entry in resolved.fleet))
    used = _used(_without_counts(endless, time_limit_s))
    if not used:
        fewest: Sequence[AllocatedGpu] = ()
        for gpus in known:
            fewest = min(fewest or gpus, gpus, key=lambda one: price_of(resolved, one))
            if time.monotonic() > deadline:
                break
        used = Counter(gpu.gpu for gpu in fewest)
    if not used:
        return "how many GPUs would do was not found within the time limit"
    would_do = " and ".join(f"{times:,} x {gpu}" for gpu, times in used.items())
    return f"{would_do} would do for all services"


def _without_counts(endless: ResolvedProblem, time_limit_s: float) -> CuttingStockAnswer:
    """Returns a cheapest plan without counts, or a cheap one; under MPS of the sets of residents that are listed."""
    rules = spare_rules(endless.problem.settings)
    if rules is not None:
        return solve_with_spares(endless, rules, time_limit_s=time_limit_s).answer
    if not endless.mps:
        return solve_by_prices(endless, time_limit_s=time_limit_s).answer
    shared = mps_items(endless, parts=False)
    listed = [enumerate_columns(table) for table in item_tables(endless, shared)]
    feasible = [column for of_type in listed for column in of_type.columns if column.batches is not None]
    builder = by_columns(endless, shared, feasible)
    return solve_cutting_stock(endless, time_limit_s=time_limit_s, shared=builder, fewest_slices=False)


def _used(answer: CuttingStockAnswer) -> Counter[str]:
    """Returns the GPUs of each type that a plan takes; empty: there is none."""
    used: Counter[str] = Counter()
    for pattern, times in answer.patterns or ():
        used[pattern.gpu] += times
    for column, times in answer.shared.columns:
        used[column.gpu] += times
    return used
