"""Gap and bound of an objective, for either sense, and the words for them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliceplan.solver.model.objective import COST, Sense

SERVED = replace(
    COST,
    name="requests served",
    sense=Sense.MOST,
    unit="requests per second",
    amount="{:,.0f} requests per second",
    no_plan="no plan serves more than",
    best="most",
    beyond="below the most possible",
)

amounts = st.floats(1e-6, 1e9)
gaps = st.floats(0, 0.99)


@given(amounts, amounts)
def test_the_gap_is_the_part_of_the_bound_that_a_plan_may_be_worse(value, bound):
    for objective, worse in ((COST, value - bound), (SERVED, bound - value)):
        gap = objective.gap(value, bound)
        assert gap == pytest.approx(max(0, worse) / bound, abs=1e-9 * max(value, 1) / bound)
        assert (gap == 0) or objective.is_better(bound, value)


@given(amounts, amounts, gaps)
def test_a_plan_is_within_a_gap_exactly_where_its_gap_is_no_greater(value, bound, asked):
    for objective in (COST, SERVED):
        gap = abs(value - bound) / bound * (1 if objective.is_better(bound, value) else 0)
        if abs(gap - asked) > 1e-9:
            assert objective.is_within(asked, value, bound, 0.0) == (gap < asked)


@given(amounts, amounts)
def test_a_bound_is_refuted_by_what_is_better_and_proves_what_is_not_worse(value, bound):
    for objective in (COST, SERVED):
        assert objective.refutes(value, bound, 0.0) == objective.is_better(value, bound)
        assert objective.is_within(0.0, value, bound, 0.0) != objective.is_better(bound, value)


@given(st.lists(amounts, min_size=1))
def test_the_strongest_bound_is_the_worst_value(values):
    assert COST.strongest(values) == SERVED.best_of(values) == max(values)
    assert SERVED.strongest(values) == COST.best_of(values) == min(values)
    assert not any(one.is_better(value, one.best_of(values)) for one in (COST, SERVED) for value in values)


def test_what_is_unknown_proves_nothing():
    for objective in (COST, SERVED):
        assert objective.gap(None, 1.0) is objective.gap(1.0, None) is None
        assert objective.best_of([]) is objective.strongest([]) is None
        assert not objective.is_within(0.1, None, 1.0, 0.0)
        assert not objective.is_within(0.1, 1.0, None, 0.0)
        assert not objective.refutes(1.0, None, 0.0)
    assert COST.gap(1.0, 0.0) is None
    assert COST.gap(1.0 + 1e-10, 1.0) == 0


def test_bound_and_gap_are_said_in_the_words_of_the_objective():
    assert COST.bound_in_words(1234.5) == "no plan costs less than $1,234.50 per hour"
    assert COST.gap_in_words(0.0312) == "at most 3.1 % above the cheapest possible"
    assert COST.gap_in_words(0.00001) == "at most 0.001 % above the cheapest possible"
    assert SERVED.bound_in_words(90_000) == "no plan serves more than 90,000 requests per second"
    assert SERVED.gap_in_words(0.5) == "at most 50.0 % below the most possible"
