"""
Linear programs from arrays, by HiGHS and by GLOP, OR-Tools' own simplex: by the other where one fails.

scipy.optimize has HiGHS, too, but takes 0.6 s of processor time to load, as long as all else that a search loads. Of
some programs of a dozen rows HiGHS says that it does not know, which MathOpt makes an error. Of such programs, of which
a search solves a hundred in a row, GLOP takes half of the time.
"""

from dataclasses import dataclass

import numpy as np
from ortools.math_opt.python import mathopt

from ...performance.interference.prediction import Floats
from .array_program import program_of
from .highs import ENDED_WITH_ERROR, run_highs, time_limit
from .sparse_rows import SparseRows

LIMITED = (mathopt.TerminationReason.FEASIBLE, mathopt.TerminationReason.NO_SOLUTION_FOUND)
"""How a program ends that its time limit ended."""

ENDS = (
    mathopt.TerminationReason.OPTIMAL,
    mathopt.TerminationReason.INFEASIBLE,
    mathopt.TerminationReason.UNBOUNDED,
    mathopt.TerminationReason.INFEASIBLE_OR_UNBOUNDED,
    *LIMITED,
)
"""How one ends that the other solver is not asked for."""


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """An optimal solution, within the solver's tolerances."""

    x: Floats
    """Shape (variable,)."""
    cost: float
    dual: Floats
    """Shape (constraint,): by how much the cost rises with the limit of a constraint that binds; 0: it does not."""


def least_cost(
    cost: Floats,
    rows: SparseRows,
    lower: Floats,
    upper: Floats,
    *,
    least: Floats | None = None,
    most: Floats,
    few_columns: bool = False,
    time_limit_s: float,
) -> LinearSolution | None:
    """
    Returns a solution of  min cost x  with  lower <= rows x <= upper,  least <= x <= most.

    None: there is none, or the solver had trouble with its numbers; so that proves nothing.

    Parameters
    ----------
    cost
        Shape (variable,).
    rows, lower, upper, least, most
        As for `program_of`.
    few_columns
        Whether GLOP comes first.

    Raises
    ------
    TimeoutError
        If the time was too short.
    """
    model = program_of(rows, lower, upper, most, name="linear", least=least, integer=False)
    variables = list(model.variables())
    weighed = np.flatnonzero(cost).tolist()
    model.minimize(mathopt.LinearSum(float(cost[i]) * variables[i] for i in weighed))
    ways = (_by_glop, _by_highs) if few_columns else (_by_highs, _by_glop)
    result = ways[0](model, time_limit_s) or ways[1](model, time_limit_s)
    reason = None if result is None else result.termination.reason
    if reason in LIMITED:
        raise TimeoutError(f"a linear program of {len(variables)} variables was not solved in {time_limit_s:.3g} s")
    if result is None or reason is not mathopt.TerminationReason.OPTIMAL:
        return None
    return LinearSolution(
        np.array(result.variable_values(variables)),
        result.objective_value(),
        np.array(result.dual_values(list(model.linear_constraints()))),
    )


def _by_highs(model: mathopt.Model, time_limit_s: float) -> mathopt.SolveResult | None:
    """Returns how it ends: solved, with no solution, or for want of time; None: none of these."""
    try:
        return _ended(run_highs(model, time_limit_s, absolute_gap=None))
    except ENDED_WITH_ERROR:
        return None


def _by_glop(model: mathopt.Model, time_limit_s: float) -> mathopt.SolveResult | None:
    """Likewise. Nothing is made smaller first, which takes as long as to solve a few rows."""
    parameters = mathopt.SolveParameters(
        time_limit=time_limit(time_limit_s), random_seed=1, presolve=mathopt.Emphasis.OFF
    )
    return _ended(mathopt.solve(model, mathopt.SolverType.GLOP, params=parameters))


def _ended(result: mathopt.SolveResult) -> mathopt.SolveResult | None:
    return result if result.termination.reason in ENDS else None
