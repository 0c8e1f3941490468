"""Most requests/s that the GPUs that there are could carry."""

import time
from collections.abc import Callable
from functools import partial

from ...allocation.allocated import AlikeGpus, AllocatedGpu
from ...allocation.assembly import UNKNOWN_BOUND, assemble, without_plan
from ...exact.capacity.answer import METHOD, MostCapacity, most_capacity
from ...exact.mig.decoding import alike_gpus
from ...exact.shared_capacity import answer as shared_capacity
from ...model.plan import Plan, Search, Start
from ...model.stop_reason import StopReason
from ...performance.latency_rules.server_sets import is_by_set
from ...performance.loosest import loosest
from ...performance.resolve import ResolvedProblem
from ...runtime.interruption import offer
from ..igniter import hosted, placed_on_each, within_limits
from .answers import NAME, without
from .capacity_of_sets import most_capacity_of_sets
from .stated_capacity import with_capacity

PROVEN, UNDER_MPS = (UNKNOWN_BOUND.model_copy(update={"method": method}) for method in (METHOD, shared_capacity.METHOD))

NO_BOUND = UNKNOWN_BOUND.model_copy(update={"method": "none: nothing was proven of the most that could be carried"})


def plan_capacity(resolved: ResolvedProblem, _: Start, time_limit_s: float) -> Plan:
    """Returns the plan that could carry most, and a limit that no plan exceeds."""
    deadline = time.monotonic() + time_limit_s

    def offered(first: MostCapacity) -> None:
        search = partial(Search, time_limit_s=time_limit_s, solver=first.solver)
        offer(lambda stopped: _of_capacity(resolved, first, search(stopped=stopped)))

    find = _most_capacity_shared if _is_shared(resolved) else most_capacity
    if is_by_set(resolved.problem.settings):
        found = most_capacity_of_sets(find, resolved, on_answer=offered, time_limit_s=time_limit_s)
    else:
        found = find(resolved, on_answer=offered, time_limit_s=time_limit_s)
    search = Search(stopped=found.stopped, time_limit_s=time_limit_s, solver=found.solver)
    if found.value is None and found.stopped is not StopReason.TIME_LIMIT:
        placed = placed_on_each(resolved) if _is_shared(resolved) else ()
        return _stated(resolved, without(loosest(resolved), search, deadline, placed, NO_BOUND), found)
    return _of_capacity(resolved, found, search)


def _is_shared(resolved: ResolvedProblem) -> bool:
    """Tells whether some service may have a share under MPS."""
    return any(mps.usable.any() for mps in resolved.mps.values())


def _most_capacity_shared(
    resolved: ResolvedProblem, *, on_answer: Callable[[MostCapacity], None], time_limit_s: float
) -> MostCapacity:
    """Returns it on GPUs under MPS, where plans of iGniter's rules are known to begin with."""
    known = within_limits(resolved, placed_on_each(resolved))
    return shared_capacity.most_capacity_shared(resolved, hosted, known, on_answer=on_answer, time_limit_s=time_limit_s)


def _of_capacity(resolved: ResolvedProblem, found: MostCapacity, search: Search) -> Plan:
    """Returns the plan that could carry most, with its limit; without GPUs: none was found."""
    bound = UNDER_MPS if _is_shared(resolved) else PROVEN
    gpus: list[AllocatedGpu | AlikeGpus] = [*found.one_by_one]
    if found.partitions is not None:
        free = None if found.spares is None else found.spares.free
        gpus += alike_gpus(resolved, found.patterns, found.partitions, free)
    if gpus:
        plan = assemble(resolved, gpus, planner=NAME, bound=bound, search=search)
    else:
        plan = without_plan(resolved, (), planner=NAME, search=search, bound=bound)
    return _stated(resolved, plan, found)


def _stated(resolved: ResolvedProblem, plan: Plan, found: MostCapacity) -> Plan:
    """Returns a plan with what it could carry, and what is proven of all plans."""
    return with_capacity(resolved, plan, limit=found.limit, one_more=found.one_more)
