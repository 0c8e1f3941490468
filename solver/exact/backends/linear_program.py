"""
Linear programs from arrays, by HiGHS; where it fails by GLOP, OR-Tools' own simplex.

scipy.optimize has HiGHS, too, but takes 0.6 s of processor time to load, as long as all else that a search loads. Of
some programs of a dozen rows HiGHS says that it does not know, which MathOpt makes an error.
"""

from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from ortools.math_opt.python import mathopt

from ...performance.interference.prediction import Floats
from ...runtime.deadline import at_most_left
from .array_program import program_of
from .highs import ENDED_WITH_ERROR, run_highs
from .sparse_rows import SparseRows

LIMITED = (mathopt.TerminationReason.FEASIBLE, mathopt.TerminationReason.NO_SOLUTION_FOUND)
"""How a program ends that its time limit ended."""


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

    Raises
    ------
    TimeoutError
        If the time was too short.
    """
    model = program_of(rows, lower, upper, most, name="linear", least=least, integer=False)
    variables = list(model.variables())
    weighed = np.flatnonzero(cost).tolist()
    model.minimize(mathopt.LinearSum(float(cost[i]) * variables[i] for i in weighed))
    result = _by_highs(model, time_limit_s) or mathopt.solve(
        model,
        mathopt.SolverType.GLOP,
        params=mathopt.SolveParameters(time_limit=timedelta(seconds=at_most_left(time_limit_s)), random_seed=1),
    )
    reason = result.termination.reason
    if reason in LIMITED:
        raise TimeoutError(f"a linear program of {len(variables)} variables was not solved in {time_limit_s:.3g} s")
    if reason is not mathopt.TerminationReason.OPTIMAL:
        return None
    return LinearSolution(
        np.array(result.variable_values(variables)),
        result.objective_value(),
        np.array(result.dual_values(list(model.linear_constraints()))),
    )


def _by_highs(model: mathopt.Model, time_limit_s: float) -> mathopt.SolveResult | None:
    """Returns what HiGHS says; None: it does not know."""
    try:
        return run_highs(model, time_limit_s, absolute_gap=None)
    except ENDED_WITH_ERROR:
        return None
