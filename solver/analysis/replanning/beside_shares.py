"""
A plan for changed rates around what runs, on fleets of which GPUs may be shared by MPS.

The bound is that of the exact planner on what any plan costs, with the price of the services that no plan can leave
where they are. Plans are those of exact/replanning/cleared_gpus.py, and the one that the exact planner makes without
regard to what runs, whichever is best.
"""

import time
from collections.abc import Sequence

from ...allocation.allocated import AllocatedGpu
from ...allocation.assembly import without_plan
from ...exact.fleet.mixed_fleet import solve_mixed_fleet
from ...exact.replanning.cleared_gpus import Around
from ...model.errors import NoPlanError
from ...model.plan import Bound, Plan, Search
from ...model.stop_reason import StopReason
from ...performance.resolve import ResolvedProblem
from ...planners.exact_plans.answers import without
from ...planners.igniter import hosted, placed_on_each, within_limits
from ...runtime.interruption import offer
from .running_shares import RunningFleet
from .shares_at_hand import SharedReplanning, packed, taken
from .trade import NAME, Answer, trade

FOR_THE_BOUND = 0.4
"""Part of the time limit for the bound on the cost of any plan, and for the plan without regard to what runs."""

FOR_FEWER_MOVES = 0.3
"""Part of the time that is left then for fewer moves at a total that is proven."""

SOLVER = "GPUs that run are cleared in turns; slice prices, then HiGHS through MathOpt"


def replanned_beside_shares(
    resolved: ResolvedProblem,
    running: Plan,
    fleet: RunningFleet,
    *,
    move_price: float | None,
    most_moves: int | None,
    time_limit_s: float,
) -> Answer:
    """
    Returns the plan and what it trades; offers the best of both so far.

    Raises
    ------
    NoPlanError
        If no plan moves as few services as asked.
    """
    deadline = time.monotonic() + time_limit_s
    asked = SharedReplanning(resolved, running, fleet, move_price=move_price, most_moves=most_moves)
    best: Around | None = None

    def offered(found: Around | None) -> None:
        offer(lambda stopped: asked.told(found, stopped, time_limit_s, SOLVER))

    if not asked.moves_too_few:
        best = taken(asked, asked.ways.with_open(asked.ways.first_open, packed, time_limit_s), None)
        offered(best)
    known = within_limits(resolved, placed_on_each(resolved))
    anew = solve_mixed_fleet(resolved, hosted, known, time_limit_s=FOR_THE_BOUND * time_limit_s)
    asked.bound = Bound(cost_per_hour=anew.cost_bound, gpus=None, method=anew.method)
    if anew.stopped == StopReason.INFEASIBLE:
        return _impossible(asked, anew.solver, time_limit_s, deadline, move_price)
    if asked.moves_too_few:
        reason = "their operating points break a limit now, or their GPUs may not be used any more"
        names = ", ".join(asked.must_move)
        raise NoPlanError(f"{names}: must be moved, and at most {most_moves} services may be: {reason}")
    if anew.gpus is not None:
        best = taken(asked, asked.ways.made_anew(anew.gpus), best)
    offered(best)
    first = asked.ways.with_open(asked.ways.first_open, _solved, max((deadline - time.monotonic()) / 4, 0.1))
    best = taken(asked, first, best)
    # A search goes on from as few open services as need be: of the plan made anew all are.
    begin = first if first is not None else best
    limited = asked.ended(best, limited=True) is StopReason.TIME_LIMIT
    # Where the best is proven, what is left to find are fewer moves for as much.
    until = deadline if limited else time.monotonic() + FOR_FEWER_MOVES * (deadline - time.monotonic())
    if begin is not None:
        begun = asked.ways.better(
            begin,
            _solved,
            move_price=asked.move_price,
            most_moves=most_moves,
            least=asked.least,
            on_better=lambda found: offered(taken(asked, found, best)),
            deadline=until,
        )
        best = taken(asked, begun, best)
    limited = time.monotonic() >= deadline
    return asked.told(best, asked.ended(best, limited=limited), time_limit_s, SOLVER)


def _solved(resolved: ResolvedProblem, time_limit_s: float) -> Sequence[AllocatedGpu] | None:
    known = within_limits(resolved, placed_on_each(resolved))
    return solve_mixed_fleet(resolved, hosted, known, time_limit_s=max(time_limit_s, 0.05)).gpus


def _impossible(
    asked: SharedReplanning, solver: str, time_limit_s: float, deadline: float, move_price: float | None
) -> Answer:
    """Returns why the fleet serves no plan at all."""
    resolved = asked.resolved
    search = Search(stopped=StopReason.INFEASIBLE, time_limit_s=time_limit_s, solver=solver)
    why = without(resolved, search, deadline, placed_on_each(resolved)).unserved
    plan = without_plan(resolved, why, planner=NAME, search=search)
    return plan, trade(asked.must_move, move_price, asked.most_moves, plan, asked.must_move, None, False)
