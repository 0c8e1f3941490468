"""Cuts on the counts of several GPU types: every plan keeps them, against enumerations that share no code with them."""

from fractions import Fraction
from functools import partial
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import mig_oracle
from oracles.mig_oracle import TooManyError, least_cost
from problems.mig_draws import small_problem
from problems.mig_statement import stated

from sliceplan.solver.exact.dual.lagrangian_dual import best_prices
from sliceplan.solver.exact.whole_gpus import fleet_counts as module
from sliceplan.solver.exact.whole_gpus.fleet_counts import (
    CountCut,
    TooManyCountsError,
    cheapest_counts,
    counted_plan,
)
from sliceplan.solver.exact.whole_gpus.mixed_demand import fractional_gpus
from sliceplan.solver.exact.whole_gpus.whole_plan import proven_at, whole_plan

TYPE = st.tuples(st.integers(1, 9), st.one_of(st.integers(0, 6).map(float), st.just(np.inf)))


@settings(max_examples=100)
@given(st.data(), st.lists(TYPE, min_size=1, max_size=3), st.integers(1, 40))
def test_the_cheapest_counts_that_keep_cuts_are_those_of_trying_all(data, types, below):
    row = st.lists(st.integers(0, 5), min_size=len(types), max_size=len(types))
    cuts = [CountCut(np.array(w), n) for w, n in data.draw(st.lists(st.tuples(row, st.integers(-2, 25)), min_size=1))]
    without = [np.array(one) for one in data.draw(st.lists(row, max_size=4))]
    cost, available = np.array([c for c, _ in types]), np.array([n for _, n in types])
    every = [
        counts
        for counts in product(*(range(int(min(n, below)) + 1) for n in available))
        if np.dot(counts, cost) < below
        and all(np.dot(cut.worth, counts) >= cut.needed for cut in cuts)
        and not any(np.array_equal(counts, one) for one in without)
    ]
    near = data.draw(st.none() | row.map(np.array))
    found = cheapest_counts(cuts, cost, available, below=below, near=near, without=without)
    if found is None:
        assert every == []
    else:
        assert tuple(found) in every
        least = min(np.dot(one, cost) for one in every)
        assert found @ cost == least
        # What costs just as much is not below it.
        assert not least or cheapest_counts(cuts, cost, available, below=least, without=without) is None
        if near is not None:
            apart = [np.abs(one - near).sum() for one in every if np.dot(one, cost) == least]
            assert np.abs(found - near).sum() == min(apart)


def test_counts_of_too_many_combinations_are_left_alone():
    cut = CountCut(np.array([1, 1, 1]), 5)
    with pytest.raises(TooManyCountsError):
        cheapest_counts([cut], np.array([1, 1, 1]), np.full(3, np.inf), below=10_000)
    with pytest.raises(TooManyCountsError):
        cheapest_counts([CountCut(np.array([2**61, 1]), 5)], np.array([1, 1]), np.full(2, np.inf), below=100)


def test_cuts_exclude_no_counts_that_have_a_plan_and_prove_no_more_than_there_is(monkeypatch):
    """Counts that a new cut excludes have no plan; what the cuts prove together is no more than the least cost."""
    excluded, found_plans, judged, cuts = [], 0, 0, 0
    excluding = module._Search.with_counts

    def watched(self, counts, deadline):
        answer = excluding(self, counts, deadline)
        if answer is None:
            excluded.append(dict(zip(self._types.tolist(), counts.tolist(), strict=True)))
        return answer

    monkeypatch.setattr(module._Search, "with_counts", watched)
    monkeypatch.setattr(mig_oracle, "MOST_DEMANDS", 1_000)
    for seed in range(700, 780):
        problem, profiles = small_problem(seed)
        found = stated(problem, profiles)
        if found is None or len(problem.fleet) == 1:
            continue
        try:
            least = least_cost(problem, profiles)
        except TooManyError:
            continue
        if least is None:
            continue
        supply, demands, steps = found
        priced = best_prices(demands, supply, start=None, enough=np.inf, deadline=np.inf)
        proven = proven_at(demands, supply, priced, steps)
        if proven is None or len(np.unique(supply.gpu_type)) == 1:
            continue
        excluded.clear()
        step = Fraction(f"{steps.step:.12g}")
        below = int(least / step) + 2
        fill = partial(filled, demands)
        # Which counts come first is a matter of speed: of every second problem the most one-sided do.
        near = fractional_gpus(supply, proven).of_type if seed % 2 else np.zeros(len(supply.available))
        counted = counted_plan(
            demands, supply, priced.listed, proven, below=below, near=near, fill=fill, deadline=np.inf
        )
        judged += 1
        assert counted.least_steps * step <= least * (1 + Fraction(1, 10**9))
        if counted.plan is not None:
            found_plans += 1
            assert_is_a_plan(counted.plan, supply, demands)
            assert counted.plan.cost * step >= least * (1 - Fraction(1, 10**6))
        cuts += len(excluded)
        for counts in excluded:
            fleet = tuple(entry.model_copy(update={"count": counts.get(g, 0)}) for g, entry in enumerate(problem.fleet))
            assert least_cost(problem.model_copy(update={"fleet": fleet}), profiles) is None, (seed, counts)
    assert judged >= 12
    assert found_plans >= 3
    assert cuts >= 1


def filled(demands, fleet, proven, steps):
    plan = whole_plan(demands, fleet, proven, at_least=steps, deadline=np.inf)
    return plan and SimpleNamespace(partitions=plan.partitions(None), cuts=plan.cuts, cost=plan.steps)


def assert_is_a_plan(plan, supply, demands):
    partitions = plan.partitions
    assert (partitions.sum(axis=0) <= plan.cuts @ supply.instances).all()
    assert ((partitions * demands.part).sum(axis=1) >= 1 - 1e-6).all()
    assert (partitions.sum(axis=1) >= demands.least).all()
    assert (partitions.sum(axis=1) <= demands.most).all()
    for g, available in enumerate(supply.available):
        assert plan.cuts[supply.gpu_type == g].sum() <= available
