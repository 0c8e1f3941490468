"""A plan for changed rates that starts from what runs: which partitions stay, and what it costs."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NoReturn

import numpy as np

from ...allocation.assembly import without_plan
from ...exact.fleet.decomposition import DecomposedAnswer, solve_by_prices
from ...exact.fleet.server_sets import solve_for_sets
from ...exact.fleet.spare_plans import cheapest_cuts
from ...exact.mig.patterns import Pattern
from ...exact.replanning.kept_plans import kept_as_it_runs, made_anew, total_per_hour
from ...exact.replanning.replanning import solve_replanning
from ...exact.replanning.running import Replanning
from ...exact.replanning.server_sets import SetReplanning, counted, replan_for_sets
from ...exact.shedding.shortfall import shortfall
from ...model.errors import NoPlanError
from ...model.plan import Bound, Plan, Search, Unserved
from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Ints
from ...performance.latency_rules.server_sets import is_by_set
from ...performance.loosest import loosest
from ...performance.resolve import ResolvedProblem
from ...runtime.interruption import offer
from .as_plan import plan_of
from .trade import NAME, Answer, nothing_traded, trade
from .what_runs import Running, names_of

FOR_THE_BOUND, FOR_A_START = 0.3, 0.1
"""Parts of the time limit for the bound on the cost of any plan, and for a plan to begin with."""

NO_SETS = "too few GPUs for all workloads, however requests are dealt"


def replanned(
    resolved: ResolvedProblem,
    running: Plan,
    known: Running,
    *,
    move_price: float | None,
    most_moves: int | None,
    time_limit_s: float,
) -> Answer:
    """
    Returns the plan and what it trades (exact/replanning); offers the best of both so far.

    `known`: what runs, as the problem knows it.

    Raises
    ------
    NoPlanError
        If no plan moves as few services as asked.
    """
    deadline = time.monotonic() + time_limit_s
    must_move = names_of(resolved, known.must_move)
    points, first = _made_anew(resolved, FOR_THE_BOUND * time_limit_s)
    bound = Bound(cost_per_hour=first.answer.cost_bound, gpus=None, method=first.method)
    if first.answer.stopped == StopReason.INFEASIBLE:
        search = Search(stopped=StopReason.INFEASIBLE, time_limit_s=time_limit_s, solver=first.answer.solver)

        def impossible(unserved: Sequence[Unserved]) -> Answer:
            plan = without_plan(resolved, unserved, planner=NAME, search=search)
            return plan, trade(must_move, move_price, most_moves, plan, must_move, None, False)

        if is_by_set(resolved.problem.settings):
            return impossible([Unserved(workload=one.name, reason=NO_SETS) for one in resolved.problem.workloads])
        left = deadline - time.monotonic()
        say = shortfall(resolved, on_answer=lambda unserved: offer(lambda _: impossible(unserved)), time_limit_s=left)
        return impossible(say)
    if most_moves is not None and most_moves < len(must_move):
        reason = "their operating points break a limit now, or their GPUs may not be used any more"
        raise NoPlanError(f"{', '.join(must_move)}: must be moved, and at most {most_moves} services may be: {reason}")

    def told(found: SetReplanning, stopped: StopReason) -> Answer:
        answer = found.answer
        search = Search(stopped=stopped, time_limit_s=time_limit_s, solver=answer.solver)
        if not found.has_plan:
            return nothing_traded(resolved, must_move, search, bound, move_price, most_moves, answer.least)
        plan = plan_of(found.points, running, known, answer, search, bound)
        moved = names_of(resolved, answer.moved)
        return plan, trade(moved, move_price, most_moves, plan, must_move, answer.least, stopped == StopReason.PROVED)

    least = None if first.answer.cost_bound is None else first.answer.cost_bound + (move_price or 0.0) * len(must_move)
    start = _first_plan(resolved, known, points, first, move_price or 0.0, most_moves, FOR_A_START * time_limit_s)
    if start is None:
        nothing = Replanning(StopReason.TIME_LIMIT, first.answer.solver, least, frozenset(), None, None, None)
        offer(lambda stopped: told(SetReplanning(resolved, nothing), stopped))
    else:
        begun = start = replace(start, answer=replace(start.answer, least=least))
        offer(lambda stopped: told(begun, stopped))
    found = _searched(
        resolved,
        known,
        start,
        move_price or 0.0,
        most_moves,
        first.answer.cost_bound,
        lambda better: offer(lambda stopped: told(better, stopped)),
        deadline - time.monotonic(),
    )
    if found.answer.stopped == StopReason.INFEASIBLE and not found.has_plan:
        offer(lambda _: _refuse(f"no plan moves at most {most_moves} services"))
        _refuse(_too_few_moves(resolved, known, most_moves, deadline - time.monotonic()))
    return told(found, found.answer.stopped)


def _refuse(reason: str) -> NoReturn:
    raise NoPlanError(reason)


def _made_anew(resolved: ResolvedProblem, time_limit_s: float) -> tuple[ResolvedProblem, DecomposedAnswer]:
    """Returns a plan without regard to what runs, the operating points that it runs, and the bound on any plan."""
    if not is_by_set(resolved.problem.settings):
        return resolved, solve_by_prices(resolved, time_limit_s=time_limit_s)
    found = solve_for_sets(resolved, time_limit_s=time_limit_s)
    return found.points, found.solved


def _first_plan(
    resolved: ResolvedProblem,
    known: Running,
    points: ResolvedProblem,
    first: DecomposedAnswer,
    move_price: float,
    most_moves: int | None,
    time_limit_s: float,
) -> SetReplanning | None:
    """Returns the better of the plans that need no search (kept_plans.py), of those that move few enough."""

    def cuts(rest: ResolvedProblem, patterns: Sequence[Pattern], wanted: Ints) -> Ints | None:
        found = cheapest_cuts(rest, patterns, wanted, np.zeros_like(wanted), time_limit_s=time_limit_s)
        return None if found is None else found[0]

    kept = kept_as_it_runs(resolved, known.gpus, known.must_move, first.price, cuts)
    anew = made_anew(known.gpus, known.must_move, first.answer) if most_moves is None else None
    plans = [(resolved, kept), (points, anew)]
    return min(
        (SetReplanning(own, plan) for own, plan in plans if plan is not None),
        key=lambda one: total_per_hour(resolved, known.gpus, one.answer, move_price),
        default=None,
    )


def _searched(
    resolved: ResolvedProblem,
    known: Running,
    start: SetReplanning | None,
    move_price: float,
    most_moves: int | None,
    known_bound: float | None,
    on_answer: Callable[[SetReplanning], None],
    time_limit_s: float,
) -> SetReplanning:
    """Returns the plan that trades cost against moved services best, with what is proven of all."""
    if is_by_set(resolved.problem.settings):
        return replan_for_sets(
            resolved,
            known.gpus,
            known.must_move,
            move_price=move_price,
            most_moves=most_moves,
            known_bound=known_bound,
            start=start,
            on_answer=on_answer,
            time_limit_s=time_limit_s,
        )
    answer = solve_replanning(
        resolved,
        known.gpus,
        known.must_move,
        move_price=move_price,
        most_moves=most_moves,
        known_bound=known_bound,
        start=None if start is None else start.answer,
        time_limit_s=time_limit_s,
    )
    return SetReplanning(resolved, answer)


def _too_few_moves(resolved: ResolvedProblem, known: Running, most_moves: int | None, time_limit_s: float) -> str:
    """Says how many services are to be moved; where sets count, below how many no plan is."""
    # The price outweighs all that the costs of plans can differ by.
    price = 1e3 * sum(entry.price_per_hour for entry in resolved.fleet)
    points = loosest(resolved)
    running = known.gpus if points is resolved else counted(points, known.gpus)
    fewest = solve_replanning(points, running, known.must_move, move_price=price, time_limit_s=time_limit_s)
    if fewest.kept is None:
        return f"no plan moves at most {most_moves} services"
    names = sorted(resolved.problem.workloads[w].name for w in fewest.moved)
    if points is not resolved:
        proven = f"; at least {len(names)} are to be moved" if fewest.stopped == StopReason.PROVED else ""
        return f"no plan moves at most {most_moves} services, however requests are dealt{proven}"
    return f"no plan moves at most {most_moves} services; moving {len(names)} would do: {', '.join(names)}"
