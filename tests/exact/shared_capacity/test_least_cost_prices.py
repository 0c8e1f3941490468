"""Prices of capacity that come of prices of least cost: what they are made of, and what a plan is worth at them."""

import time
from itertools import pairwise

import numpy as np
import pytest
from problems.igniter_instances import freely_shared

from sliceplan.solver.allocation.allocated import MpsGpu
from sliceplan.solver.exact.fleet.mixed_fleet import solve_mixed_fleet
from sliceplan.solver.exact.shared_capacity import answer
from sliceplan.solver.exact.shared_capacity import least_cost_prices as module
from sliceplan.solver.exact.shared_capacity.figures import Figures
from sliceplan.solver.exact.shared_capacity.least_cost_prices import WORTH, prices_of_least_cost
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.igniter import hosted

from .paid import all_paid

N = 10


def planned(seed, replicas=1):
    """Returns a drawn problem under MPS with so many replicas at most, what residents carry, and its cheapest plan."""
    resolved = resolve(freely_shared(N, seed, (replicas,)), shipped_profiles())
    figures = Figures.of(resolved, next(iter(resolved.mps.values())), all_paid(len(resolved.required_rps)))
    found = solve_mixed_fleet(resolved, hosted, time_limit_s=30.0)
    return resolved, figures, [one for one in found.gpus if isinstance(one, MpsGpu)]


def asked(resolved, figures, plan, *, seconds=30.0, weights=None):
    """Returns the prices that are found."""
    weights = np.ones(N) if weights is None else weights
    return prices_of_least_cost(resolved, figures, weights, plan, deadline=time.monotonic() + seconds)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_gpu_with_rates_alone_and_one_with_a_resident_alone_are_worth_no_more_than_a_gpu(seed):
    """Property: at every worth of a GPU, of the contents of a plan of least cost and of each service alone."""
    resolved, figures, plan = planned(seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2, N)
    choices = figures.choices
    carried = figures.carried_among(choices, (0.0,) * len(choices.demands), 1)
    alone = np.array([weights[w] * carried[choices.workload == w].max() for w in range(N)])
    found = asked(resolved, figures, plan, weights=weights)
    assert len(found) == len(WORTH)
    for of_most, prices in zip(WORTH, found, strict=True):
        worth = of_most * alone.max()
        paid = prices.of_less - prices.of_more
        assert not prices.of_rate.any()
        assert (alone + paid <= worth * (1 + 1e-9)).all()
        for gpu in plan:
            own = list(gpu.workloads)
            assert (weights * resolved.required_rps + paid)[own].sum() <= worth * (1 + 1e-6)
    # Nobody is paid less where a GPU is worth more.
    for fewer, more in pairwise(found):
        assert (more.of_less - more.of_more >= fewer.of_less - fewer.of_more - 1e-9).all()


def test_services_that_may_be_split_have_no_such_prices():
    resolved, figures, plan = planned(1, replicas=None)
    assert asked(resolved, figures, plan) == []


def test_without_time_there_are_none():
    resolved, figures, plan = planned(1)
    assert asked(resolved, figures, plan, seconds=0.0) == []


def test_without_a_plan_there_is_nothing_around_which_to_look(monkeypatch):
    resolved, _, plan = planned(1)
    asked = []
    monkeypatch.setattr(answer, "prices_of_least_cost", lambda *_, **__: asked.append(1) or [])
    for gpus in ([], plan[:1], plan):
        search = answer._Search(resolved, np.ones(N), np.inf)
        search.begin(gpus, 0.0)
        search._limit = np.inf  # there are no GPUs, which is proven to be all
        search.price_at_least_cost(np.inf)
        assert bool(asked) == (gpus is plan)


def test_prices_are_as_much_less_as_all_rates_are(monkeypatch):
    """Also where nobody carries a request/s."""
    resolved, figures, plan = planned(1)
    carried = module.carried_alone(figures)
    monkeypatch.setattr(module, "_parts_of_gpus", lambda *_: np.linspace(0.1, 0.9, N))
    found = []
    for part in (1.0, 1e-6):
        monkeypatch.setattr(module, "carried_alone", lambda _, part=part: carried * part)
        found.append(asked(resolved.at_rates(resolved.required_rps * part), figures, plan))
    for plain, slow in zip(*found, strict=True):
        np.testing.assert_allclose(slow.of_less / 1e-6, plain.of_less)
        np.testing.assert_allclose(slow.of_more / 1e-6, plain.of_more)
    assert any(one.of_less.any() or one.of_more.any() for one in found[0])
