"""
HiGHS through OR-Tools MathOpt, with the settings that all programs here share; SCIP for what HiGHS ends with an error.

About one in a thousand small programs with whole and other variables, and more of those that begin at a solution, ends
with an error of HiGHS in OR-Tools 9.15: it does not find a solution again that it has just found.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal

from ortools.math_opt.python import errors, mathopt
from ortools.math_opt.solvers import highs_pb2

from ...runtime.deadline import at_most_left

FINEST = 5e-10
"""
Part of a bound up to which HiGHS leaves a better solution: half of what two costs may differ by and be the same
(cost_lattice.py), for what it ends with is stated as the bound.
"""

LONGEST_S = 1e9
"""Thirty years: a limit beyond it is none."""

TIE_BREAK_NODES = 20
"""Branch-and-bound nodes for a second goal; a count and not a time, so that equal runs give equal plans."""


ENDED_WITH_ERROR = (errors.InternalMathOptError, AttributeError)
"""How MathOpt says that a solver ended with an error; the second where it does not find the error's code."""


def run_highs(
    model: mathopt.Model,
    time_limit_s: float,
    *,
    absolute_gap: float | None,
    gap: float = 0.0,
    node_limit: int | None = None,
    presolve: bool = True,
    jump: bool = True,
    start: Mapping[Any, float] | None = None,
) -> mathopt.SolveResult:
    """
    Solves a program, on one thread and with a fixed seed; with SCIP, in as much time again, where HiGHS has an error.

    Parameters
    ----------
    time_limit_s
        Of which no more counts than the whole search has left; inf: as long as that has.
    absolute_gap
        Stop at a solution this close to the bound: just below 1 where every cost is an integer; None: at the optimum.
    gap
        Stop at a solution this close to the bound, as a part of the bound. HiGHS has it as a part of the solution.
    presolve
        Whether the program is made smaller first: of one of a few dense rows that takes more than the search.
    jump
        Whether a first solution is looked for by HiGHS's feasibility jump: of a few rows that takes more than the rest.
    start
        A known solution, as found: it may be off by rounding.

    Raises
    ------
    InternalMathOptError, AttributeError
        If HiGHS has an error on a program without whole variables, of which SCIP tells no duals.
    """
    parameters = highs_parameters(
        time_limit_s, absolute_gap=absolute_gap, gap=gap, node_limit=node_limit, presolve=presolve, jump=jump
    )
    # HiGHS ends with an error, not without the hint, where an integer of it is off by 1e-7, or a value is beyond its
    # bound, as in its own solutions.
    known = {one: _within(one, round(value) if one.integer else value) for one, value in (start or {}).items()}
    hints = [mathopt.SolutionHint(variable_values=known)] if known else []
    model_parameters = mathopt.ModelSolveParameters(solution_hints=hints)
    try:
        return mathopt.solve(model, mathopt.SolverType.HIGHS, params=parameters, model_params=model_parameters)
    except ENDED_WITH_ERROR:
        if not any(one.integer for one in model.variables()):
            raise
        parameters.time_limit = time_limit(time_limit_s)
        return mathopt.solve(model, mathopt.SolverType.GSCIP, params=parameters, model_params=model_parameters)


def highs_parameters(
    time_limit_s: float,
    *,
    absolute_gap: float | None,
    gap: float = 0.0,
    node_limit: int | None = None,
    presolve: bool = True,
    jump: bool = True,
) -> mathopt.SolveParameters:
    """Returns what HiGHS is told; parameters as of `run_highs`."""
    return mathopt.SolveParameters(
        time_limit=time_limit(time_limit_s),
        random_seed=1,
        relative_gap_tolerance=max(0.0 if absolute_gap is not None else FINEST, gap / (1 + gap) * (1 - 1e-6)),
        absolute_gap_tolerance=absolute_gap,
        node_limit=node_limit,
        presolve=None if presolve else mathopt.Emphasis.OFF,
        highs=highs_pb2.HighsOptionsProto(
            string_options={"parallel": "off"},
            bool_options={} if jump else {"mip_heuristic_run_feasibility_jump": False},
        ),
    )


def time_limit(limit_s: float) -> timedelta | None:
    """Returns the time that a program may take, no more than the whole search has left; None: as long as it takes."""
    left = at_most_left(limit_s)
    return None if left >= LONGEST_S else timedelta(seconds=left)


def _within(variable: mathopt.Variable, value: float) -> float:
    low, high = float(variable.lower_bound), float(variable.upper_bound)
    return min(max(value, low), high)


End = Literal["optimal", "time_limit", "infeasible"]

_END: dict[mathopt.TerminationReason, End] = {
    mathopt.TerminationReason.OPTIMAL: "optimal",
    mathopt.TerminationReason.FEASIBLE: "time_limit",
    mathopt.TerminationReason.NO_SOLUTION_FOUND: "time_limit",
    mathopt.TerminationReason.INFEASIBLE: "infeasible",
    mathopt.TerminationReason.INFEASIBLE_OR_UNBOUNDED: "infeasible",
}


def solver_text(result: mathopt.SolveResult) -> str:
    """Returns the solver and its own word for how it ended, for `Search.solver`."""
    solver = "HiGHS" if result.gscip_specific_output is None else "SCIP, as HiGHS had an error,"
    return f"{solver} through MathOpt: {result.termination.reason.name.lower()}"


def end_of(result: mathopt.SolveResult) -> End:
    """Returns how a program that cannot be unbounded ended; RuntimeError: in no way that is known."""
    reason = result.termination.reason
    if reason not in _END:
        raise RuntimeError(f"the solver ended with {reason.name}: {result.termination.detail}")
    return _END[reason]
