"""
Linear programs from arrays, by HiGHS and by GLOP, OR-Tools' own simplex: by the other where one fails.

scipy.optimize has HiGHS, too, but takes 0.6 s of processor time to load, as long as all else that a search loads. Of
some programs of a dozen rows HiGHS says that it does not know, which MathOpt makes an error. Of such programs, of which
a search solves a hundred in a row, GLOP takes half of the time. MathOpt makes an object of every variable, and several
of what a solution says of it, which takes longer than the solvers do; so programs and solutions stay arrays here.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from ortools.math_opt import model_pb2, result_pb2, solution_pb2
from ortools.math_opt.core.python import solver as math_opt_solver
from ortools.math_opt.python import mathopt
from pybind11_abseil.status import StatusNotOk

from ...performance.interference.prediction import Floats, Ints
from .array_program import program_of
from .highs import highs_parameters, time_limit
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


BASIC = mathopt.BasisStatus.BASIC.value
"""Of a constraint: it does not bind."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Which variables and constraints are basic, and at which limit the others are, as `mathopt.BasisStatus` has it."""

    variable: Ints
    """Shape (variable,)."""
    constraint: Ints
    """Shape (constraint,)."""


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """An optimal solution, within the solver's tolerances."""

    x: Floats
    """Shape (variable,)."""
    cost: float
    dual: Floats
    """Shape (constraint,): by how much the cost rises with the limit of a constraint that binds; 0: it does not."""
    basis: Basis | None
    """None: the solver does not say."""


def least_cost(
    cost: Floats,
    rows: SparseRows,
    lower: Floats,
    upper: Floats,
    *,
    least: Floats | None = None,
    most: Floats,
    few_columns: bool = False,
    start: Basis | None = None,
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
    start
        The basis of a program that was alike, at which GLOP begins: after more constraints or other limits it is still
        dual feasible, so the dual simplex has little to do. None: GLOP chooses.

    Raises
    ------
    TimeoutError
        If the time was too short.
    """
    program = program_of(rows, lower, upper, most, name="linear", least=least, integer=False)
    weighed = np.flatnonzero(cost)
    program.objective.linear_coefficients.ids.extend(weighed)
    program.objective.linear_coefficients.values.extend(cost[weighed])
    by_glop = partial(_by_glop, start=start)
    ways = (by_glop, _by_highs) if few_columns else (_by_highs, by_glop)
    result = ways[0](program, time_limit_s) or ways[1](program, time_limit_s)
    reason = None if result is None else _reason(result)
    if reason in LIMITED:
        raise TimeoutError(f"a linear program of {len(cost)} variables was not solved in {time_limit_s:.3g} s")
    if result is None or reason is not mathopt.TerminationReason.OPTIMAL:
        return None
    best = result.solutions[0]
    return LinearSolution(
        np.array(best.primal_solution.variable_values.values),
        best.primal_solution.objective_value,
        np.array(best.dual_solution.dual_values.values),
        _basis_of(best.basis) if best.HasField("basis") else None,
    )


def _basis_of(basis: solution_pb2.BasisProto) -> Basis:
    return Basis(np.array(basis.variable_status.values), np.array(basis.constraint_status.values))


def _by_highs(program: model_pb2.ModelProto, time_limit_s: float) -> result_pb2.SolveResultProto | None:
    """Returns how it ends: solved, with no solution, or for want of time; None: none of these."""
    return _solved(program, mathopt.SolverType.HIGHS, highs_parameters(time_limit_s, absolute_gap=None))


def _by_glop(
    program: model_pb2.ModelProto, time_limit_s: float, start: Basis | None
) -> result_pb2.SolveResultProto | None:
    """Likewise. Nothing is made smaller first, which takes as long as to solve a few rows."""
    parameters = mathopt.SolveParameters(
        time_limit=time_limit(time_limit_s),
        random_seed=1,
        presolve=mathopt.Emphasis.OFF,
        lp_algorithm=None if start is None else mathopt.LPAlgorithm.DUAL_SIMPLEX,
    )
    return _solved(program, mathopt.SolverType.GLOP, parameters, start)


def _solved(
    program: model_pb2.ModelProto,
    solver: mathopt.SolverType,
    parameters: mathopt.SolveParameters,
    start: Basis | None = None,
) -> result_pb2.SolveResultProto | None:
    """Solves a program as `mathopt.solve` does, and returns the answer as it is written, without its objects."""
    asked = mathopt.ModelSolveParameters().to_proto()
    if start is not None:
        for known, of_basis in (
            (start.variable, asked.initial_basis.variable_status),
            (start.constraint, asked.initial_basis.constraint_status),
        ):
            of_basis.ids.extend(range(len(known)))
            of_basis.values.extend(known.tolist())
    try:
        result = math_opt_solver.solve(
            program,
            solver.value,
            mathopt.StreamableSolverInitArguments().to_proto(),
            parameters.to_proto(),
            asked,
            None,
            mathopt.CallbackRegistration().to_proto(),
            None,
            None,
        )
    except StatusNotOk:
        return None
    return result if _reason(result) in ENDS else None


def _reason(result: result_pb2.SolveResultProto) -> mathopt.TerminationReason:
    return mathopt.TerminationReason(result.termination.reason)
