"""Programs begin at a known solution, also where rounding put it beside a bound, and an error of HiGHS ends none."""

import numpy as np
import pytest
from ortools.math_opt.python import errors, mathopt

from sliceplan.solver.exact.backends import highs
from sliceplan.solver.exact.backends.highs import end_of, run_highs, solver_text


@pytest.mark.parametrize("off", [-5e-7, 0.0, 5e-7])
@pytest.mark.parametrize("whole", [True, False])
def test_a_solution_that_is_off_by_rounding_is_one_to_start_from(off, whole):
    """3 x + 2 y >= 7, both from 0 to 2: 1 and 2 are cheapest where both are whole."""
    model = mathopt.Model()
    x = model.add_variable(lb=0, ub=2, is_integer=True)
    y = model.add_variable(lb=0, ub=2, is_integer=whole)
    model.add_linear_constraint(3 * x + 2 * y >= 7)
    model.minimize(2 * x + y)
    for start in ({x: 1 + off, y: 2 + off}, {x: 2 + off, y: 0.5 + off}, {x: 2 + off, y: 0 + off}, {x: 0 + off, y: 2}):
        result = run_highs(model, 10.0, absolute_gap=None, start=start)
        assert result.objective_value() == pytest.approx(4.0)


ERRORS = (
    ([1, 1, 0, 1, 0], [5, np.inf, np.inf, 5, np.inf], [0, 1, 0, 1, 0], [4, 1, 3, 2, 1],
     [[0, 3, 2, 2, 1], [3, 0, 0, 1, 0], [1, 1, 2, 1, 3], [2, 1, 0, 3, 1]], [4, 2, 8, 8], 9.0),
    ([-1, 0, -1, 0, -1], [3, 3, np.inf, np.inf, 3], [1, 1, 1, 1, 0], [2, 4, 1, 2, 3],
     [[0, 1, 2, 2, 1], [3, 0, 2, 2, 3], [3, 2, 2, 3, 3], [3, 3, 2, 2, 2]], [2, 5, 2, 5], 1.0),
)  # fmt: skip
"""Low, high, whether it is whole, cost, rows, what these come to at least, and the optimum: HiGHS has an error."""


def drawn(seed):
    """Returns a program as those above, of three whole variables and one that need not be."""
    draw = np.random.default_rng(seed)
    low, high = draw.choice([-1.0, 0.0, 1.0], 4), draw.choice([3.0, 5.0, np.inf], 4)
    cost, rows, least = draw.integers(1, 5, 4), draw.integers(0, 4, (4, 4)), draw.integers(1, 9, 4)
    return low, high, [1, 1, 1, 0], cost, rows, least, by_trying_all(low, high, cost, rows, least)


def by_trying_all(low, high, cost, rows, least):
    """Returns the optimum, inf: there is none. No variable is above what the rows could ask of it alone."""
    tried = np.stack(np.meshgrid(*[np.arange(one, one + 12) for one in low[:3]], indexing="ij"), -1).reshape(-1, 3)
    tried = tried[(tried <= high[:3]).all(axis=1)]
    missing = least - tried @ rows[:, :3].T
    own = rows[:, 3]
    last = np.maximum((missing[:, own > 0] / own[own > 0]).max(axis=1, initial=low[3]), low[3])
    fits = (missing[:, own == 0] <= 0).all(axis=1) & (last <= high[3])
    return float((tried @ cost[:3] + last * cost[3]).min(initial=np.inf, where=fits))


@pytest.mark.parametrize("program", [*ERRORS, *map(drawn, range(60))])
def test_programs_end_at_the_optimum_from_any_start_whatever_error_highs_has(program):
    """Property: by trying all; a start may be a solution, nearly one or none."""
    low, high, whole, cost, rows, least, optimum = program
    model = mathopt.Model()
    variables = [model.add_variable(lb=a, ub=b, is_integer=bool(c)) for a, b, c in zip(low, high, whole, strict=True)]
    for row, bound in zip(rows, least, strict=True):
        model.add_linear_constraint(
            mathopt.LinearSum(float(c) * v for c, v in zip(row, variables, strict=True)) >= float(bound)
        )
    model.minimize(mathopt.LinearSum(float(c) * v for c, v in zip(cost, variables, strict=True)))
    result = run_highs(model, 60.0, absolute_gap=None)
    assert (end_of(result) == "infeasible") == (optimum == np.inf)
    if optimum < np.inf:
        assert result.objective_value() == pytest.approx(optimum, abs=1e-4)
        for off in (0.0, -1e-6, 1e-5, 0.3):
            start = {one: result.variable_values(one) + off for one in variables}
            assert run_highs(model, 60.0, absolute_gap=None, start=start).objective_value() == pytest.approx(
                optimum, abs=1e-4
            )


@pytest.mark.parametrize("error", [errors.InternalMathOptError("kError"), AttributeError("canonical_code")])
def test_scip_solves_what_highs_has_an_error_on_but_no_linear_program(monkeypatch, error):
    real, asked = mathopt.solve, []

    def solve(model, solver, **options):
        asked.append(solver)
        if solver is mathopt.SolverType.HIGHS:
            raise error
        return real(model, solver, **options)

    monkeypatch.setattr(highs.mathopt, "solve", solve)
    model = mathopt.Model()
    x = model.add_variable(lb=0, ub=9, is_integer=True)
    model.add_linear_constraint(2 * x >= 5)
    model.minimize(x)
    result = run_highs(model, 10.0, absolute_gap=0.999, node_limit=20, presolve=False)
    assert result.objective_value() == pytest.approx(3.0)
    assert solver_text(result) == "SCIP, as HiGHS had an error, through MathOpt: optimal"
    assert asked == [mathopt.SolverType.HIGHS, mathopt.SolverType.GSCIP]
    x.integer = False
    with pytest.raises(type(error)):
        run_highs(model, 10.0, absolute_gap=None)
