"""What HiGHS is told: gaps as parts of its solution, limits of time, whether it makes programs smaller first."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from ortools.math_opt.python import mathopt

from sliceplan.solver.exact.backends import highs
from sliceplan.solver.exact.backends.highs import FINEST, LONGEST_S, end_of, highs_parameters, run_highs, time_limit


@pytest.mark.parametrize("gap", [1e-6, 0.01, 0.5, 3.0])
def test_a_gap_is_a_part_of_the_bound_and_highs_has_it_as_a_part_of_the_solution(gap):
    """A solution of (1 + gap) times the bound is as far as may be; one of a little more is too far."""
    told = highs_parameters(1.0, absolute_gap=None, gap=gap).relative_gap_tolerance
    bound, solution = 1000.0, 1000.0 * (1 + gap)
    assert told <= (solution - bound) / solution
    assert told == pytest.approx((solution - bound) / solution, rel=2e-6)


def test_without_a_gap_it_goes_on_to_the_finest_or_to_so_much_in_all():
    told = highs_parameters(1.0, absolute_gap=None)
    assert (told.relative_gap_tolerance, told.absolute_gap_tolerance) == (FINEST, None)
    told = highs_parameters(1.0, absolute_gap=0.999, node_limit=7)
    assert (told.relative_gap_tolerance, told.absolute_gap_tolerance, told.node_limit) == (0.0, 0.999, 7)
    assert highs_parameters(1.0, absolute_gap=0.999, gap=1.0).relative_gap_tolerance == pytest.approx(0.5, rel=2e-6)
    assert told.presolve is None
    assert highs_parameters(1.0, absolute_gap=None, presolve=False).presolve is mathopt.Emphasis.OFF
    jump = "mip_heuristic_run_feasibility_jump"
    assert jump not in told.highs.bool_options
    assert highs_parameters(1.0, absolute_gap=None, jump=False).highs.bool_options[jump] is False


def test_thirty_years_are_no_limit():
    assert time_limit(float("inf")) is None
    assert time_limit(LONGEST_S) is None
    assert time_limit(7.5) == timedelta(seconds=7.5)


def test_a_program_is_solved_as_told_from_where_it_is_told(monkeypatch):
    seen = []
    monkeypatch.setattr(highs.mathopt, "solve", lambda *_, params, model_params: seen.append((params, model_params)))
    model = mathopt.Model()
    x, y = (model.add_variable(lb=0, ub=2, is_integer=whole) for whole in (True, False))
    run_highs(model, 5.0, absolute_gap=None, start={x: 0.9, y: 2.5})
    run_highs(model, 5.0, absolute_gap=None, gap=1.0, presolve=False, jump=False)
    (first, second) = seen
    assert [hint.variable_values for hint in first[1].solution_hints] == [{x: 1, y: 2.0}]
    assert second[1].solution_hints == []
    assert first[0].relative_gap_tolerance == FINEST
    assert second[0].relative_gap_tolerance == pytest.approx(0.5, rel=2e-6)
    assert (first[0].presolve, second[0].presolve) == (None, mathopt.Emphasis.OFF)
    assert [len(one[0].highs.bool_options) for one in seen] == [0, 1]


def test_a_way_to_end_that_is_not_known_is_an_error():
    reasons = mathopt.TerminationReason
    ended = {one: SimpleNamespace(termination=SimpleNamespace(reason=one, detail="why")) for one in reasons}
    known = {reasons.OPTIMAL: "optimal", reasons.FEASIBLE: "time_limit", reasons.NO_SOLUTION_FOUND: "time_limit"}
    known |= {reasons.INFEASIBLE: "infeasible", reasons.INFEASIBLE_OR_UNBOUNDED: "infeasible"}
    for one, result in ended.items():
        if one in known:
            assert end_of(result) == known[one]
        else:
            with pytest.raises(RuntimeError, match=f"ended with {one.name}: why"):
                end_of(result)
