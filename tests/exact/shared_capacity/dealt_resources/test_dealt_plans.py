"""Rounds of dealing: nobody stands twice, no GPU is used that is not there; and plans of many services as a whole."""

import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from problems.igniter_instances import freely_shared

from sliceplan.solver.api import solve
from sliceplan.solver.check import check
from sliceplan.solver.exact.capacity.solo import solo_capacity, weights_of
from sliceplan.solver.exact.fleet.mixed_fleet import solve_mixed_fleet
from sliceplan.solver.exact.shared_capacity import answer
from sliceplan.solver.exact.shared_capacity.completed import completed
from sliceplan.solver.exact.shared_capacity.dealt_resources.cells import SharedCells
from sliceplan.solver.exact.shared_capacity.dealt_resources.limit import ResourcePrices
from sliceplan.solver.exact.shared_capacity.dealt_resources.plans import Dealer
from sliceplan.solver.exact.shared_capacity.of_fleet import contents_of_fleet
from sliceplan.solver.exact.shared_capacity.prices import limit_at
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.igniter import hosted


@pytest.fixture(scope="module")
def dealt():
    """Returns a problem of 24 services on 8 GPUs, its contents, and rounds of dealing them."""
    resolved = resolve(freely_shared(24, 1, (1,), 8), shipped_profiles())
    weights = weights_of("equal", solo_capacity(resolved))
    fleet = contents_of_fleet(resolved, weights)
    cells = [SharedCells(own.figures, weights) for own in fleet]
    gpus = {own.gpu: 8 for own in fleet}
    search = ResourcePrices(
        cells, cells[0].figures.once, gpus, lambda one: limit_at(resolved, one.prices, one.worth, gpus)
    )
    search.improve(time.monotonic() + 60, divisions=2)
    charge = search.best.prices.of_more - search.best.prices.of_less
    worth = max(search.best.worth.values())
    dealer = Dealer(cells, search.points(), gpus, weights, charge, worth)
    return resolved, fleet, [one for one, _ in zip(dealer.rounds(time.monotonic() + 60), range(12), strict=False)]


def test_nobody_stands_twice_and_no_gpu_is_used_that_is_not_there(dealt):
    resolved, fleet, rounds = dealt
    for one in rounds:
        there = Counter(w for content in one.contents for w in content.gpu.workloads)
        assert set(there.values()) <= {1}
        assert sorted(there) == np.flatnonzero(~one.waiting).tolist()
        assert len(one.contents) <= 8
        for content in one.contents:
            assert fleet[0].of(content.gpu) == content
            assert (content.rates(24) >= resolved.required_rps * content.replicas(24) * (1 - 1e-9)).all()
    assert min(one.lacks for one in rounds) < rounds[0].lacks or not rounds[0].waiting.any()


def test_a_plan_is_completed_with_those_who_wait(dealt):
    resolved, fleet, rounds = dealt

    def cheap(others, _):
        return solve_mixed_fleet(replace(others, gap=1.0), hosted, time_limit_s=2.0).gpus

    plan = completed(resolved, fleet, rounds[0].contents, cheap)
    rates = sum(one.rates(24) for one in plan)
    assert (rates >= resolved.required_rps * (1 - 1e-9)).all()
    assert len(plan) <= 8
    # Without anybody to plan the rest there is a plan only where nobody is left.
    missing = rounds[0].contents[1:]
    assert completed(resolved, fleet, missing, lambda *_: None) is None


@pytest.mark.parametrize("replicas", [1, None])
def test_many_services_have_a_plan_and_a_limit_by_resources_alone(monkeypatch, replicas):
    """As if 30 were many: the plan holds, carries much more than one of least cost, and its limit is near."""
    monkeypatch.setattr(answer, "MANY", 20)
    monkeypatch.setattr(answer._Search, "ask", None)
    problem = freely_shared(30, 2, (replicas,), 10)
    settings = problem.settings.model_copy(update={"objective": "capacity", "time_limit_s": 20.0})
    problem = problem.model_copy(update={"settings": settings})
    plan = solve(problem)
    assert check(problem, plan, shipped_profiles()) == []
    asked = sum(one.rate_rps for one in problem.workloads)
    assert asked * 2 < plan.capacity.value <= plan.capacity.limit <= 2 * plan.capacity.value
