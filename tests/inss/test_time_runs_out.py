"""Time that runs out at any moment: what schedulers say then is true, and they end."""

import numpy as np
import pytest
from oracles.inss_decisions import best_of_all
from problems.inss_instances import alike, random_inss_problem
from support.clock import time_for

from sliceplan.solver.inss.decision import judged
from sliceplan.solver.inss.exact.columns import by_columns
from sliceplan.solver.inss.exact.effort import Effort
from sliceplan.solver.inss.exact.most_capacity import most_capacity
from sliceplan.solver.inss.exact.set_values import Asked, alone, optimistic
from sliceplan.solver.inss.latency import latencies_of
from sliceplan.solver.inss.schedulers.registry import SCHEDULERS
from sliceplan.solver.inss.schedulers.scheduler import Task

MOMENTS = (3, 5, 9, 200)


@pytest.mark.parametrize("search", [most_capacity, by_columns])
def test_no_limit_is_below_a_decision_and_no_decision_above_the_best(search):
    """Property: against all decisions of small problems, whether a proof or a search is ended."""
    found_some = proven = 0
    for seed in range(8):
        problem = random_inss_problem(seed)
        latencies, best = latencies_of(problem), best_of_all(problem, 1.0)
        for moment in MOMENTS:
            with time_for(moment) as clock:
                found = search(latencies, latencies.rates_rps, Effort(30.0, tries=20, turns=1))
            assert clock.late <= 20, (seed, moment)
            if found is None:
                assert best is None, (seed, moment)
                continue
            if best is not None:
                assert found.limit >= best * (1 - 1e-9), (seed, moment)
            if found.decision is not None:
                found_some += 1
                assert found.value <= best * (1 + 1e-9), (seed, moment)
                assert judged(latencies, found.decision, latencies.rates_rps).holds, (seed, moment)
            if found.is_optimal:
                proven += 1
                assert found.value == pytest.approx(best, rel=1e-9), (seed, moment)
    assert found_some > 8
    assert proven > 4 or search is by_columns


@pytest.mark.parametrize("name", SCHEDULERS)
def test_every_scheduler_ends_where_time_does(name):
    latencies = latencies_of(alike(12, (4, 4), seed=0))
    whole = {}
    for moment in (3, 5, 30, 10**6):
        task = Task(latencies, latencies.rates_rps, np.ones(12), effort=Effort(30.0, tries=40, turns=2))
        with time_for(moment) as clock:
            whole[moment] = SCHEDULERS[name].decide(task)
        assert clock.late <= 20, moment
    if name not in ("exact", "igniter"):
        assert all((whole[moment] is None) == (whole[10**6] is None) for moment in (3, 5, 30))


def test_what_models_carry_alone_is_the_bound_of_each_by_itself():
    for seed in range(8):
        latencies = latencies_of(random_inss_problem(seed))
        asked = Asked(latencies, latencies.rates_rps, np.array([1.0, 0.5, 2.0]), 1.1)
        for kind in range(2):
            each = np.concatenate([optimistic(asked, kind, np.array([i])) for i in range(3)])
            assert alone(asked, kind) == pytest.approx(each, rel=1e-12)
