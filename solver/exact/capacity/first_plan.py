"""
A first plan for most requests/s, by the prices of the relaxation (relaxation.py).

Every workload takes the whole partitions that the relaxation gives it for its rate, or one less of each, and for what
is left of the rate the few with which it loses least: a partition of size k costs it pi_k - a_w T_wk, what the
partition is worth less what the workload's own requests count. What the GPUs have beside goes to whoever counts most on
it. That leaves a program of few rows: how GPUs are cut so that there is enough of every size, and most is left.
"""

from itertools import combinations_with_replacement
from math import inf

import numpy as np
from ortools.math_opt.python import mathopt

from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ..backends.highs import run_highs
from ..mig.patterns import counts_of, patterns_of
from .most_requests import MostRequests
from .relaxation import Relaxation

MOST_MORE = 5
"""Partitions that are tried for the rest of a rate."""

MOST_RESTS = 2_000
"""Of their multisets, fewest partitions first; of five sizes there are 252."""

AT_ONCE = 500
"""Workloads that are looked at together."""

NEVER = 1e30
"""Stands for the loss of a partition that serves a workload not at all."""

LONGEST_S = 5.0
"""For the program of few rows, which takes some milliseconds."""


def first_plan(
    resolved: ResolvedProblem, weights: Floats, relaxed: Relaxation, *, time_limit_s: float
) -> MostRequests | None:
    """Returns a plan; None: this way finds none."""
    own = _covers(resolved, weights, relaxed)
    if own is None:
        return None
    capacity = resolved.capacity_rps
    limited = np.array([one.max_replicas is not None for one in resolved.problem.workloads])
    value = np.where(limited[:, None], 0.0, weights[:, None] * capacity)
    counts_most = value.argmax(axis=0)
    worth = value.max(axis=0)
    cuts = [(entry, pattern) for entry in resolved.fleet for pattern in patterns_of(resolved, entry)]
    model = mathopt.Model(name="cuts_for_covers")
    x = [model.add_integer_variable(lb=0) for _ in cuts]
    left = [model.add_integer_variable(lb=0, ub=inf if worth[k] > 0 else 0) for k in range(len(worth))]
    supply = np.array([counts_of(resolved, pattern) for _, pattern in cuts]).reshape(len(cuts), len(worth))
    for k, asked in enumerate(own.sum(axis=0).tolist()):
        cut = mathopt.LinearSum(int(supply[p, k]) * x[p] for p in np.flatnonzero(supply[:, k]))
        model.add_linear_constraint(cut - left[k] >= asked)
    for entry in resolved.fleet:
        used = mathopt.LinearSum(x[p] for p, (one, _) in enumerate(cuts) if one is entry)
        model.add_linear_constraint(used <= (entry.available or 0))
    unit = float(worth.max(initial=0.0)) or 1.0
    model.maximize(mathopt.LinearSum(float(worth[k]) / unit * one for k, one in enumerate(left)))
    result = run_highs(model, min(time_limit_s, LONGEST_S), absolute_gap=None)
    if not result.has_primal_feasible_solution():
        return None
    best = result.variable_values()
    partitions = own.copy()
    partitions[counts_most, np.arange(len(worth))] += [round(best[one]) for one in left]
    return MostRequests(
        StopReason.TIME_LIMIT,
        "HiGHS through MathOpt: prices and covers",
        None,
        tuple((pattern, round(best[x[p]])) for p, (_, pattern) in enumerate(cuts) if round(best[x[p]])),
        partitions,
    )


def _covers(resolved: ResolvedProblem, weights: Floats, relaxed: Relaxation) -> Ints | None:
    """Returns partitions that carry each workload's rate, shape (workload, size); None: replica limits are not kept."""
    capacity, required = resolved.capacity_rps, resolved.required_rps
    workloads = resolved.problem.workloads
    most = np.array([one.max_replicas or np.inf for one in workloads])
    least = np.array([one.min_replicas for one in workloads])
    loss = np.where(capacity > 0, np.maximum(relaxed.price - weights[:, None] * capacity, 0.0), NEVER)
    carried = (capacity * relaxed.partitions).sum(axis=1)
    # Whoever counts most has what is left in the relaxation too: here that is dealt later.
    part = np.where(np.isinf(most), required / np.maximum(carried, required), 1.0)
    whole = np.floor(relaxed.partitions * part[:, None] + 1e-9).astype(np.int64)
    found, at_loss = np.zeros_like(whole), np.full(len(required), np.inf)
    rests = _few_of(len(resolved.sizes))
    for base in (whole, np.maximum(whole - 1, 0)):
        for rows in np.array_split(np.arange(len(required)), len(required) // AT_ONCE + 1):
            covers = base[rows, None, :] + rests
            replicas = covers.sum(axis=2)
            holds = (covers * capacity[rows, None, :]).sum(axis=2) >= required[rows, None]
            holds &= (replicas >= least[rows, None]) & (replicas <= most[rows, None])
            losses = np.where(holds, (covers * loss[rows, None, :]).sum(axis=2), np.inf)
            best = losses.argmin(axis=1)
            lost = losses[np.arange(len(rows)), best]
            better = lost < at_loss[rows]
            found[rows[better]] = covers[np.flatnonzero(better), best[better]]
            at_loss[rows[better]] = lost[better]
    return found if np.all(at_loss < NEVER) else None


def _few_of(sizes: int) -> Ints:
    """Returns all multisets of at most MOST_MORE partitions, fewest first; shape (multiset, size)."""
    few = [
        np.bincount(np.array(chosen, dtype=np.int64), minlength=sizes)
        for number in range(MOST_MORE + 1)
        for chosen in combinations_with_replacement(range(sizes), number)
    ]
    few = few[:MOST_RESTS]
    return np.array(few, dtype=np.int64)
