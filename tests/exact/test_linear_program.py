"""Linear programs are solved as scipy.optimize solves them, and say when there is no solution or no time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sliceplan.solver.exact.backends import linear_program
from sliceplan.solver.exact.backends.linear_program import BASIC, Basis, least_cost
from sliceplan.solver.exact.backends.sparse_rows import of_blocks, of_dense, sparse_rows


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_cost_and_duals_are_those_of_another_solver(seed, few_columns):
    draw = np.random.default_rng(seed)
    constraints, variables = draw.integers(1, 8), draw.integers(1, 8)
    rows = np.where(draw.random((constraints, variables)) < 0.6, draw.integers(-3, 4, (constraints, variables)), 0.0)
    lower = draw.integers(-4, 2, constraints) + draw.random(constraints)
    upper = lower + draw.integers(0, 5, constraints)
    least, most = np.full(variables, -2.0), draw.integers(-1, 6, variables).astype(float)
    cost = draw.normal(size=variables)
    found = least_cost(
        cost, of_dense(rows), lower, upper, least=least, most=most, few_columns=few_columns, time_limit_s=10
    )
    other = linprog(
        cost, A_ub=np.vstack([rows, -rows]), b_ub=np.concatenate([upper, -lower]), bounds=np.stack([least, most], 1)
    )
    if other.x is None:
        assert found is None
        return
    assert found.cost == pytest.approx(other.fun, abs=1e-6)
    assert cost @ found.x == pytest.approx(other.fun, abs=1e-6)
    assert (rows @ found.x >= lower - 1e-6).all()
    assert (rows @ found.x <= upper + 1e-6).all()
    # Weak duality: what duals of the right signs prove is no more than the cost, and no less at an optimum.
    reduced = cost - found.dual @ rows
    proven = np.where(found.dual > 0, lower, upper) @ found.dual + np.where(reduced > 0, least, most) @ reduced
    assert proven == pytest.approx(other.fun, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_a_basis_to_start_from_changes_no_answer_whatever_it_was_of(seed, nonsense):
    """Of a program with fewer rows and other limits, or drawn."""
    draw = np.random.default_rng(seed)
    constraints, variables = int(draw.integers(2, 12)), int(draw.integers(1, 10))
    rows = draw.integers(0, 4, (constraints, variables)).astype(float)
    upper, none = draw.uniform(1, 9, constraints), np.full(constraints, -np.inf)
    cost, centre = -draw.uniform(0.1, 1, variables), draw.uniform(0, 3, variables)
    known = int(draw.integers(1, constraints))

    def solved(number, least, most, start=None):
        limits = of_dense(rows[:number]), none[:number], upper[:number]
        return least_cost(cost, *limits, least=least, most=most, few_columns=True, start=start, time_limit_s=10)

    before = solved(known, np.zeros(variables), centre + 1)
    assert len(before.basis.variable) == variables
    assert len(before.basis.constraint) == known
    assert (np.concatenate([before.basis.variable, before.basis.constraint]) == BASIC).sum() == known
    start = Basis(before.basis.variable, np.append(before.basis.constraint, np.full(constraints - known, BASIC)))
    if nonsense:
        start = Basis(draw.integers(1, 6, variables), draw.integers(1, 6, constraints))
    least, most = np.maximum(centre - 1, 0), centre + draw.uniform(0, 2)
    found, other = solved(constraints, least, most, start), solved(constraints, least, most)
    if other is None:
        assert found is None
        return
    assert found.cost == pytest.approx(other.cost, abs=1e-7)
    assert (rows @ found.x <= upper + 1e-7).all()
    reduced = cost - found.dual @ rows
    assert (found.dual <= 1e-9).all()
    assert upper @ found.dual + np.where(reduced > 0, least, most) @ reduced == pytest.approx(other.cost, abs=1e-6)


FIRST = pytest.mark.parametrize("few_columns", [False, True], ids=["HiGHS first", "GLOP first"])


def with_one_variable(cost, most, few_columns):
    """Returns the answer of  min cost x,  x >= 2,  0 <= x <= most."""
    rows, least, none = of_dense(np.array([[1.0]])), np.array([2.0]), np.array([np.inf])
    return least_cost(
        np.array([cost]), rows, least, none, most=np.array([most]), few_columns=few_columns, time_limit_s=9
    )


@FIRST
@pytest.mark.parametrize(("cost", "most"), [(1.0, 1.0), (-1.0, np.inf)], ids=["infeasible", "unbounded"])
def test_without_a_solution_there_is_none(cost, most, few_columns):
    assert with_one_variable(cost, most, few_columns) is None


@FIRST
def test_too_short_a_time_is_an_error(few_columns):
    draw = np.random.default_rng(0)
    rows, limit = of_dense(draw.random((300, 900))), np.full(300, np.inf)
    none = limit[:1].repeat(900)
    with pytest.raises(TimeoutError, match="of 900 variables was not solved in 1e-09 s"):
        least_cost(draw.random(900), rows, np.ones(300), limit, most=none, few_columns=few_columns, time_limit_s=1e-9)


@FIRST
@pytest.mark.parametrize("failing", [["_by_highs"], ["_by_glop"], ["_by_highs", "_by_glop"]])
def test_where_one_solver_fails_the_other_is_asked(failing, few_columns, monkeypatch):
    for way in failing:
        monkeypatch.setattr(linear_program, way, lambda *_, **__: None)
    found = with_one_variable(3.0, 9.0, few_columns)
    if len(failing) == 2:
        assert found is None
    else:
        assert found.cost == pytest.approx(6)


def test_entries_are_sorted_and_blocks_placed():
    rows = sparse_rows(np.array([1, 0, 0]), np.array([0, 2, 1]), np.array([5.0, 4.0, 3.0]), (2, 3))
    assert (rows.row.tolist(), rows.column.tolist(), rows.value.tolist()) == ([0, 0, 1], [1, 2, 0], [3.0, 4.0, 5.0])
    both = of_blocks([[None, of_dense(np.array([[7.0], [0.0]]))], [rows, None]])
    dense = np.zeros(both.shape)
    dense[both.row, both.column] = both.value
    assert dense.tolist() == [[0, 0, 0, 7], [0, 0, 0, 0], [0, 3, 4, 0], [5, 0, 0, 0]]
    assert both.row.tolist() == sorted(both.row.tolist())


@FIRST
def test_numbers_that_are_none_have_no_solution(few_columns):
    assert with_one_variable(np.nan, 9.0, few_columns) is None
