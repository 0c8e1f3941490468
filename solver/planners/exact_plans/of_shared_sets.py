"""
The exact planner on GPUs under MPS where what a service's partitions carry is no sum (latency_rules/server_sets.py).

The plan is that for weighted turns, which holds with better routers too, or the looser problem's if all its sets hold,
residents beside other partitions of their services. The bound is the looser problem's (performance/loosest.py): its
claim is of any servers with batches of one time, and a resident's are counted to take as long as beside neighbours that
are always busy.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...allocation.allocated import AllocatedGpu
from ...allocation.assembly import HEURISTIC_DONE, UNKNOWN_BOUND, assemble
from ...exact.fleet.fleet_answer import FleetAnswer, price_of
from ...exact.fleet.mixed_fleet import solve_mixed_fleet
from ...exact.proof import ended
from ...model.plan import Start
from ...model.stop_reason import StopReason
from ...performance.loosest import loosest
from ...performance.resolve import ResolvedProblem
from ...performance.unservable import unservable_by_sums
from ..igniter import hosted, placed_on_each, within_limits
from .answers import NAME

LOOSER = "of a looser problem, in which partitions count for what none exceeds with any router"

FOR_TURNS = 0.5
"""Part of the time for the plan in weighted turns."""


def solve_shared_sets(
    resolved: ResolvedProblem, start: Start, *, time_limit_s: float
) -> tuple[ResolvedProblem, FleetAnswer]:
    """
    Returns the problem with the operating points of the plan, and the plan; the module says how it is found.

    `start`: where each search begins.
    """
    deadline = time.monotonic() + time_limit_s
    loose, plans = loosest(resolved), []
    if not unservable_by_sums(resolved):
        known = within_limits(resolved, placed_on_each(resolved))
        in_turns = solve_mixed_fleet(resolved, hosted, known, start=start, time_limit_s=FOR_TURNS * time_limit_s)
        plans += [(resolved, in_turns.gpus)] if in_turns.gpus is not None else []
    proven = solve_mixed_fleet(loose, hosted, start=start, time_limit_s=deadline - time.monotonic())
    if proven.gpus is not None and holds_together(loose, proven.gpus):
        plans.append((loose, proven.gpus))
    if proven.stopped == StopReason.INFEASIBLE and not plans:
        return loose, proven
    points, gpus = min(plans, key=lambda plan: price_of(*plan), default=(resolved, None))
    cost = None if gpus is None else price_of(points, gpus)
    limited = proven.stopped == StopReason.TIME_LIMIT or time.monotonic() > deadline
    stopped = ended(cost, proven.cost_bound, gap=resolved.gap, limited=limited)
    return points, replace(proven, stopped=stopped, method=f"{LOOSER}: {proven.method}", gpus=gpus)


def holds_together(resolved: ResolvedProblem, gpus: Sequence[AllocatedGpu]) -> bool:
    """Tells whether what partitions carry beside each other is enough for every service."""
    carried = {workload.name: 0.0 for workload in resolved.problem.workloads}
    plan = assemble(resolved, gpus, planner=NAME, bound=UNKNOWN_BOUND, search=HEURISTIC_DONE)
    for served in (one for gpu in plan.gpus for partition in gpu.partitions for one in partition.serves):
        carried[served.workload] += served.carries_rps
    return bool((np.array(list(carried.values())) >= resolved.required_rps * (1 - 1e-9)).all())
