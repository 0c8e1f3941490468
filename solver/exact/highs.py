"""HiGHS through OR-Tools MathOpt, with the settings that all programs here share."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ortools.math_opt.python import mathopt
from ortools.math_opt.solvers import highs_pb2

from ..deadline import at_most_left

TIE_BREAK_NODES = 20
"""Branch-and-bound nodes for a second goal; a count and not a time, so that equal runs give equal plans."""


def run_highs(
    model: mathopt.Model,
    time_limit_s: float,
    *,
    absolute_gap: float | None,
    node_limit: int | None = None,
    start: Mapping[Any, float] | None = None,
) -> mathopt.SolveResult:
    """
    Solves a program, on one thread and with a fixed seed.

    Parameters
    ----------
    time_limit_s
        Of which no more counts than the whole search has left.
    absolute_gap
        Stop at a solution this close to the bound: just below 1 where every cost is an integer; None: at the optimum.
    start
        A known solution, as found: its integers may be off by rounding.
    """
    parameters = mathopt.SolveParameters(
        time_limit=timedelta(seconds=at_most_left(time_limit_s)),
        random_seed=1,
        relative_gap_tolerance=0.0 if absolute_gap is not None else 1e-9,
        absolute_gap_tolerance=absolute_gap,
        node_limit=node_limit,
        highs=highs_pb2.HighsOptionsProto(string_options={"parallel": "off"}),
    )
    # HiGHS ends with an error, not without the hint, where an integer of it is off by 1e-7, as its own solutions are.
    known = {one: round(value) if one.integer else value for one, value in (start or {}).items()}
    hints = [mathopt.SolutionHint(variable_values=known)] if known else []
    return mathopt.solve(
        model,
        mathopt.SolverType.HIGHS,
        params=parameters,
        model_params=mathopt.ModelSolveParameters(solution_hints=hints),
    )
