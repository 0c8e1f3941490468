"""The space of smooth prices."""

from types import SimpleNamespace

import numpy as np
import pytest
from problems.igniter_instances import random_mps_problem

from sliceplan.solver.exact.mps.items import mps_items
from sliceplan.solver.exact.surroundings import smooth_prices
from sliceplan.solver.exact.surroundings.customers import customers_of
from sliceplan.solver.exact.surroundings.smooth_prices import price_space
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve


def space_of(problem):
    resolved = resolve(problem, shipped_profiles())
    customers = customers_of(resolved, mps_items(resolved, parts=False))
    return customers, price_space(customers, [np.array([320.0, 30.0]) for _ in customers.types])


def test_services_that_need_the_same_have_the_same_price_and_others_need_not(monkeypatch):
    monkeypatch.setattr(smooth_prices, "MANY_ALIKE", 3)
    monkeypatch.setattr(smooth_prices, "QUANTILES", 3)
    problem = random_mps_problem(30, 3)
    twin = problem.workloads[4].model_copy(
        update={"id": "twin", "rate_rps": problem.workloads[4].rate_rps * (1 + 1e-9)}
    )
    customers, space = space_of(problem.model_copy(update={"workloads": (*problem.workloads, twin)}))
    basis = space.basis.toarray()
    assert len(basis) == len(customers.wanted) == 31
    assert np.allclose(basis[4], basis[30], atol=1e-6)
    assert np.unique(basis.round(6), axis=0).shape[0] > 20
    # Services of two models have no function in common, and prices at shares are mixed for those between.
    for one in range(31):
        others = customers.model != customers.model[one]
        assert not (basis[others] @ basis[one]).any()
    assert basis.sum(axis=1) == pytest.approx(1)
    assert (basis.max(axis=0) > 0.9).all()


def test_services_of_rare_models_share_their_functions():
    customers, space = space_of(random_mps_problem(20, 3))
    assert len(np.unique(customers.model)) > 1
    assert space.basis.shape == (20, smooth_prices.QUANTILES)


def test_prices_in_the_ranges_of_a_centre_stay_near_it():
    """Property: every price in the ranges of one that is in the space is within that part of it, or of the average."""
    _, space = space_of(random_mps_problem(40, 1))
    draw = np.random.default_rng(1)
    for _ in range(20):
        centre = space.prices(draw.uniform(0.0, 2.0, space.basis.shape[1]))
        assert space.prices(space.coordinates(centre)) == pytest.approx(centre)
        low, high = space.ranges(centre).T
        for _ in range(20):
            price = space.prices(draw.uniform(low, high))
            # Between two shares a price has a part of the greater of both ranges.
            reach = space.basis @ ((high - low) / 2)
            assert (np.abs(price - centre) <= reach * (1 + 1e-9)).all()
            assert (reach <= 0.15 * (centre + 0.02 * centre.mean()) * (1 + 1e-9)).all()


@pytest.mark.parametrize("percents", [[5.0, 40.0, 10.0, 10.0, 22.0, 31.0], [7.0, 7.0], [3.0, 9.0], [4.0]])
def test_a_price_lies_between_those_at_the_shares_next_to_it(monkeypatch, percents):
    """Of any function of the share that is linear between the quantiles, by another interpolation."""
    percent = np.array(percents)
    monkeypatch.setattr(smooth_prices, "least_percent", lambda *_: percent[None])
    monkeypatch.setattr(smooth_prices, "QUANTILES", 4)
    count = len(percents)
    guests = SimpleNamespace(of=lambda first: first)
    one = SimpleNamespace(customer=np.arange(count), guests=guests)
    customers = SimpleNamespace(wanted=np.ones(count), model=np.zeros(count, dtype=np.int64), types=[one])
    basis = price_space(customers, [np.zeros(2)]).basis.toarray()
    nodes = np.unique(np.quantile(percent, [0, 1 / 3, 2 / 3, 1]))
    assert basis.shape == (count, len(nodes))
    for column in range(len(nodes)):
        assert basis[:, column] == pytest.approx(np.interp(percent, nodes, np.eye(len(nodes))[column]), abs=1e-9)


def test_so_many_services_of_a_model_as_are_many_have_functions_of_their_own(monkeypatch):
    monkeypatch.setattr(smooth_prices, "MANY_ALIKE", 3)
    assert smooth_prices._groups(np.array([7, 5, 7, 7, 5, 2])).tolist() == [7, -1, 7, 7, -1, -1]
