"""
The most requests/s that given GPUs could carry: the MIG cutting stock with another objective.

Data, variables and constraints are those of mig/cutting_stock.py; a_w > 0 is what a request/s of w counts.

    max  sum_w a_w sum_k T_wk n_wk

Rates are met as in any plan, and beyond them every partition counts with all that it could carry: capacity, which is
not what is served. Maximal cuts lose nothing, as there.

Partitions that are kept free (mig/spare_capacity.py) count nothing: they serve nobody until there is trouble.

Where none are, most variables have a limit beside the GPUs. Let u be the workload that no max_replicas binds and that
counts most on a partition of size k, and w another such workload. Where n_wk > max(ceil(R_w / T_wk), min_w), w keeps
its rate and its least replicas without one of these partitions; u in its place counts as much or more, and has its own
rate all the more. Every such exchange leaves fewer partitions to workloads that count less on them, so there is a best
plan with n_wk <= max(ceil(R_w / T_wk), min_w) for all but u.

The limit is the lesser of the solver's dual bound of this program and of what exact prices prove (price_limit.py).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from ortools.math_opt.python import mathopt

from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ..backends.highs import end_of, run_highs, solver_text
from ..met_rates import solved_with_rates_met
from ..mig.cutting_stock import CuttingStockAnswer, CuttingStockProgram
from ..mig.patterns import Pattern, counts_of, patterns_of
from ..mig.spare_rules import KeptFree, spare_rules
from ..mps.program import NO_SHARES

ROUNDING = 1e-9
"""Part of a limit by which the solver's may be off."""


@dataclass(frozen=True)
class MostRequests:
    """What was found and what is proven; weighted requests/s."""

    stopped: StopReason
    """`infeasible`: the GPUs do not carry the rates."""
    solver: str
    limit: float | None
    """No plan has more; None: nothing was proven."""
    patterns: tuple[tuple[Pattern, int], ...] = ()
    """How many GPUs are cut in each way."""
    partitions: Ints | None = None
    """Shape (workload, size): partitions of each size for each workload; None: no plan was found."""
    spares: KeptFree | None = None
    """Partitions that are kept free; None: none are."""

    def capacity(self, resolved: ResolvedProblem, weights: Floats) -> float | None:
        """Returns what the plan has; None: there is none."""
        if self.partitions is None:
            return None
        return float((weights[:, None] * resolved.capacity_rps * self.partitions).sum())


def most_requests(
    resolved: ResolvedProblem,
    weights: Floats,
    *,
    known: MostRequests | None = None,
    time_limit_s: float,
    gap: float = 0.0,
) -> MostRequests:
    """
    Returns the plan with most weighted requests/s on the GPUs that there are; every type has a count.

    Parameters
    ----------
    weights
        Shape (workload,), above 0: what a request/s counts.
    known
        A plan to start from.
    gap
        Part of the limit that may be missing when the search ends.
    """
    started = time.monotonic()
    spare = spare_rules(resolved.problem.settings)
    most = _most_partitions(resolved, weights) if spare is None else _instances_of_each(resolved)
    program = CuttingStockProgram(resolved, counts=True, spare=spare, most=most)
    value = weights[:, None] * resolved.capacity_rps
    unit = float(value.max(initial=0.0)) or 1.0
    program.model.maximize(mathopt.LinearSum(value[at] / unit * variable for at, variable in program.served.items()))

    start = None if known is None else program.values(_as_cutting_stock(known))

    def solve() -> mathopt.SolveResult:
        left = time_limit_s - (time.monotonic() - started)
        return run_highs(program.model, left, absolute_gap=None, gap=gap, start=start)

    result = solved_with_rates_met(program.model, program.rates, solve)
    end, solver = end_of(result), solver_text(result)
    if end == "infeasible":
        return MostRequests(StopReason.INFEASIBLE, solver, None)
    dual = result.termination.objective_bounds.dual_bound
    limit = None if dual == inf else dual * unit * (1 + ROUNDING)
    if not result.has_primal_feasible_solution():
        return MostRequests(StopReason.TIME_LIMIT, solver, limit)
    best = result.variable_values()
    return MostRequests(
        StopReason.TIME_LIMIT if end == "time_limit" else StopReason.HEURISTIC_DONE,
        solver,
        limit,
        program.cut(best),
        program.partitions(best),
        program.spares(best),
    )


def _as_cutting_stock(known: MostRequests) -> CuttingStockAnswer:
    return CuttingStockAnswer(
        StopReason.TIME_LIMIT, "", None, known.patterns, known.partitions, NO_SHARES, known.spares
    )


def _most_partitions(resolved: ResolvedProblem, weights: Floats) -> Floats:
    """Returns how many partitions of each size a workload has at most in some best plan, shape (workload, size)."""
    capacity, required = resolved.capacity_rps, resolved.required_rps
    workloads = resolved.problem.workloads
    limited = np.array([one.max_replicas is not None for one in workloads])
    least = np.array([one.min_replicas for one in workloads])
    with np.errstate(divide="ignore"):
        most = np.maximum(np.ceil(required[:, None] / capacity), least[:, None])
    there_are = _instances(resolved)
    value = np.where(limited[:, None], 0.0, weights[:, None] * capacity)
    counts_most = value.argmax(axis=0)
    sizes = np.arange(len(resolved.sizes))
    most[limited] = np.array([one.max_replicas or 0 for one in workloads])[limited, None]
    most[counts_most, sizes] = np.where(limited[counts_most], most[counts_most, sizes], there_are)
    return np.asarray(np.minimum(most, there_are), dtype=np.float64)


def _instances_of_each(resolved: ResolvedProblem) -> Floats:
    """Returns how many partitions of each size a workload has at most in any plan, shape (workload, size)."""
    most = np.array([np.inf if one.max_replicas is None else one.max_replicas for one in resolved.problem.workloads])
    return np.asarray(np.minimum(most[:, None], _instances(resolved)), dtype=np.float64)


def _instances(resolved: ResolvedProblem) -> Floats:
    """Returns how many partitions of each size the GPUs that there are have at most, shape (size,)."""
    most = np.zeros(len(resolved.sizes))
    for entry in resolved.fleet:
        cuts: Sequence[Ints] = [counts_of(resolved, pattern) for pattern in patterns_of(resolved, entry)]
        if cuts:
            most = np.maximum(most, (entry.available or 0) * np.max(cuts, axis=0))
    return most
