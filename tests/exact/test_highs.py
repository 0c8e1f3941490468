"""Programs that HiGHS is given a solution of begin there, also where rounding put it beside a bound."""

import pytest
from ortools.math_opt.python import mathopt

from sliceplan.solver.exact.backends.highs import run_highs


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
