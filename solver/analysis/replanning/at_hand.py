"""
The plan around what runs that is at hand without a search, and a bound, for a search that is ended before it has one.

All stays that may; GPUs for what is missing are cut greedily (exact/primal/cuts_at_hand.py) at slice prices by which a
size costs its part of a GPU, of which the bound is, too. No solver is loaded, which alone takes a short limit.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...allocation.assembly import UNKNOWN_BOUND
from ...exact.dual.lagrangian_data import lagrangian_data, supply_of
from ...exact.dual.prices_at_hand import prices_at_hand
from ...exact.mig.patterns import Pattern
from ...exact.primal.cuts_at_hand import greedy_cuts
from ...exact.replanning.kept_plans import kept_as_it_runs
from ...model.plan import Plan, Search
from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ...planners.exact_plans.at_hand import bound_at_hand
from .as_plan import plan_of
from .trade import Answer, nothing_traded, trade
from .what_runs import Running, names_of


def at_hand(
    resolved: ResolvedProblem,
    running: Plan,
    known: Running,
    stopped: StopReason,
    *,
    move_price: float | None,
    most_moves: int | None,
) -> Answer:
    """Returns the plan and what it trades; no plan where too few GPUs or replicas are allowed, or too few moves."""
    must_move = names_of(resolved, known.must_move)
    search = Search(stopped=stopped, time_limit_s=0.0, solver=None)
    if most_moves is not None and most_moves < len(must_move):
        return nothing_traded(resolved, must_move, search, UNKNOWN_BOUND, move_price, most_moves)
    data = lagrangian_data(resolved)
    found = prices_at_hand(data.demands, data.supply, deadline=time.monotonic())
    bound = bound_at_hand(resolved, found.bound)
    cost = bound.cost_per_hour
    least = None if cost is None else cost + (move_price or 0.0) * len(must_move)
    price = np.zeros(len(resolved.sizes))
    price[data.sizes] = found.price
    kept = kept_as_it_runs(resolved, known.gpus, known.must_move, price, partial(_cut_greedily, price))
    if kept is None:
        return nothing_traded(resolved, must_move, search, bound, move_price, most_moves, least)
    plan = plan_of(resolved, running, known, kept, search, bound)
    return plan, trade(must_move, move_price, most_moves, plan, must_move, least, proven=False)


def _cut_greedily(price: Floats, resolved: ResolvedProblem, patterns: Sequence[Pattern], wanted: Ints) -> Ints | None:
    """Cuts GPUs for partitions that are worth so much, as `kept_as_it_runs` has it."""
    supply = supply_of(replace(resolved, mps={}), patterns, np.arange(len(resolved.sizes)))
    times, beyond = greedy_cuts(supply, wanted, price)
    return None if beyond.any() else times
