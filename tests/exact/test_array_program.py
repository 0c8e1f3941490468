"""Programs from arrays say what the arrays do, in whatever order a row has its entries."""

import numpy as np
from ortools.math_opt.python import mathopt

from sliceplan.solver.exact.backends.array_program import program_of
from sliceplan.solver.exact.backends.sparse_rows import sparse_rows


def test_a_program_has_its_rows_bounds_and_whole_variables():
    # 3 x1 + 2 x0 <= 7.5, the later column first; x0 - x1 >= -1
    rows = sparse_rows(np.array([0, 0, 1, 1]), np.array([1, 0, 0, 1]), np.array([3.0, 2.0, 1.0, -1.0]), (2, 2))
    most = np.array([np.inf, 5.0])
    program = program_of(rows, np.array([-np.inf, -1.0]), np.array([7.5, np.inf]), most, name="small")
    model = mathopt.Model.from_model_proto(program)
    first, second = sorted(model.variables(), key=lambda one: one.id)
    model.maximize(first + 2.0 * second)
    result = mathopt.solve(model, mathopt.SolverType.HIGHS)
    values = result.variable_values()
    # By trying all: (2, 1) makes 4 and (0, 1) makes 2; (0, 2) is excluded by the second row, (0.75, 2) is not whole.
    assert (values[first], values[second]) == (2.0, 1.0)
    assert [first.upper_bound, second.upper_bound, first.lower_bound, first.integer] == [np.inf, 5.0, 0.0, True]
    found = [(row.id, column.id) for row in model.linear_constraints() for column in model.row_nonzeros(row)]
    assert sorted(found) == [(0, 0), (0, 1), (1, 0), (1, 1)]
