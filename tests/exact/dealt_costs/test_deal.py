"""What GPUs deal to their residents, on GPUs that keep their SLOs by the scalar equations, and plans that are known."""

import random
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from problems.igniter_instances import FLEET, MODELS, V100, random_mps_problem
from problems.instances import problem_of
from problems.planted_gpus import planted, promised

from sliceplan.solver.api import solve
from sliceplan.solver.exact.dealt_costs.deal import DealSearch
from sliceplan.solver.exact.dealt_costs.dealing import Dealing, can_deal
from sliceplan.solver.exact.fleet.fleet_by_dealt_costs import DEALT, with_dealt_bound
from sliceplan.solver.exact.fleet.fleet_by_prices import fleet_prices
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

PROFILES = shipped_profiles()


@pytest.mark.parametrize(
    ("made", "near"),
    [
        (planted, 0.9),
        (promised, 0.8),
        (partial(promised, dispatch="random", quantile=0.99), 0.8),
    ],
)
def test_no_gpu_deals_more_than_it_costs(made, near):
    """
    Property: whatever the weights and boxes, and which of its GPUs a service's residents are on.

    Each resident costs what the staircase of its service says of what it carries in truth.
    """
    nearest = 0.0
    for seed in range(6):
        problem, gpus = made(seed)
        resolved, draw = resolve(problem, PROFILES), np.random.default_rng(seed)
        search = next(own[1] for own in Dealing(resolved)._types)
        for turn in range(3):
            boxes = len(search.deal.boxes)
            weights = draw.dirichlet(np.full(4, draw.choice([0.2, 1.0, 5.0])), boxes)
            search.deal = replace(search.deal, weights=weights if turn != 1 else search.deal.weights)
            of_service = staircases_of(search, resolved)
            for gpu in gpus:
                dealt = sum(cheapest(of_service[problem_row(problem, w)], rate) for w, _, rate in gpu if rate > 1e-6)
                assert dealt <= 1 + 1e-9, (seed, turn, gpu)
                nearest = max(nearest, dealt)
            search.run(time.monotonic() + 60)
    assert nearest > near


def test_whole_services_that_no_resident_carries_are_dealt_nothing_on_a_type():
    """No cover is met, so there are no weights to look for."""
    resolved = resolve(planted(1)[0], PROFILES)
    search = next(own[1] for own in Dealing(resolved)._types)
    asking = replace(search._asking, rate_rps=1e9 * search._asking.rate_rps, whole=np.ones_like(search._asking.whole))
    (mps,) = resolved.mps.values()
    unmet = DealSearch(mps, asking)
    unmet.run(time.monotonic() + 60)
    assert np.isinf(unmet.covers().cost[:, -1]).all()


def problem_row(problem, service):
    return [workload.name for workload in problem.workloads].index(str(service))


def staircases_of(search, resolved):
    """Returns the staircase of each workload."""
    asking = search._asking
    found = {}
    for cost, (own, points) in zip(search.deal.costs, search.deal.order(asking, search._kind_of), strict=True):
        for place, steps in points.staircases(cost):
            found[int(asking.workload[own[place]])] = steps
    assert len(found) == len(resolved.required_rps)
    return found


def cheapest(steps, rate):
    """Returns the least cost of a resident that carries so much."""
    return min(cost for carried, cost in zip(steps.rate_rps, steps.cost, strict=True) if carried >= rate * (1 - 1e-9))


@pytest.mark.parametrize(
    ("made", "first", "least"),
    [
        (planted, 0, 2),
        (planted, 4, 2),
        (promised, 0, 1),
        (partial(promised, dispatch="random"), 4, 1),
    ],
)
def test_the_bound_is_no_more_than_what_a_known_plan_costs(made, first, least):
    """Property: on the GPUs that a problem was made of, which split its services in any way."""
    proven = 0
    for seed in range(first, first + 4):
        problem, gpus = made(seed, most_gpus=5)
        resolved = resolve(problem, PROFILES)
        dealing = Dealing(resolved)
        for _ in range(2):
            dealing.improve(time.monotonic() + 0.3)
            dealt = dealing.rates().least[:, 0, -1].sum()
            assert dealt <= len(gpus), (seed, dealt)
        proven += dealt > len(gpus) - 1
    assert proven >= least


def test_the_bound_is_greater_than_that_of_residents_alone_on_their_gpus():
    """Services of one model each would be alone on their GPUs are beside others here, who slow them down."""
    workloads = [
        {"name": f"{model}{i}", "model": model, "slo_ms": 30 + i, "rate_rps": rate}
        for model, rate in zip(MODELS, (600, 200, 100, 80), strict=True)
        for i in range(4)
    ]
    resolved = resolve(problem_of(workloads, fleet=FLEET), PROFILES)
    prices = fleet_prices(resolved, deadline=time.monotonic() + 5)
    plan = solve(problem_of(workloads, fleet=FLEET, time_limit_s=5), profiles=PROFILES)
    found = with_dealt_bound(resolved, prices, plan.cost_per_hour, deadline=time.monotonic() + 60)
    assert found.method == DEALT
    assert prices.bound < found.bound <= plan.cost_per_hour * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_beside_mig_the_bound_is_no_more_than_any_plan_costs(seed):
    """Property: services may be on partitions and on shares at once."""
    fleet = [{"gpu": "A100-80GB", "sharing": ["mig"]}, {"gpu": V100, "sharing": ["mps"]}]
    problem, gpus = planted(seed, fleet=fleet)
    resolved = resolve(problem, PROFILES)
    prices = fleet_prices(resolved, deadline=time.monotonic() + 5)
    found = with_dealt_bound(resolved, prices, None, deadline=time.monotonic() + 1)
    of_v100 = resolved.fleet_by_name[V100].price_per_hour
    assert found.bound >= prices.bound
    assert found.bound <= len(gpus) * of_v100 * (1 + 1e-9)
    assert found.bound <= solve(problem, profiles=PROFILES, time_limit_s=1).cost_per_hour * (1 + 1e-9)


def test_beside_mig_the_bound_of_whole_services_is_no_more_than_the_cheapest_plan():
    """By the program over all sets, which asks for nothing that is dealt."""
    raised = 0
    for seed in range(3):
        workloads = [
            {**one.model_dump(mode="json"), "slo_ms": 1.5 * one.slo_ms} for one in random_mps_problem(8, seed).workloads
        ]
        fleet = [{"gpu": "A100-80GB", "sharing": ["mig"], "price_per_hour": 3.4}, {"gpu": V100, "sharing": ["mps"]}]
        problem = problem_of(workloads, fleet=fleet)
        resolved = resolve(problem, PROFILES)
        assert can_deal(resolved)
        plan = solve(problem, profiles=PROFILES, time_limit_s=60)
        assert plan.status == "optimal"
        prices = fleet_prices(resolved, deadline=time.monotonic() + 5)
        found = with_dealt_bound(resolved, prices, None, deadline=time.monotonic() + 0.5)
        assert prices.bound <= found.bound <= plan.cost_per_hour * (1 + 1e-9)
        raised += found.bound > prices.bound
    assert raised >= 1


def test_gpus_are_dealt_only_where_surroundings_do_not_prove_more():
    workloads = [{"name": "a", "model": "alexnet", "slo_ms": 30, "rate_rps": 100}]
    assert can_deal(resolve(problem_of(workloads, fleet=FLEET), PROFILES))
    whole = [{**workloads[0], "max_replicas": 1}]
    assert not can_deal(resolve(problem_of(whole, fleet=FLEET), PROFILES))
    assert not can_deal(resolve(problem_of(workloads, fleet=FLEET, mps_rules="igniter"), PROFILES))


def test_services_of_which_a_sample_is_looked_at_all_count():
    """The weights are those of a sample, the bound is of all: it grows with every service."""
    draw = random.Random(3)
    workloads = [
        {"name": str(i), "model": MODELS[i % 4], "slo_ms": draw.uniform(25, 60), "rate_rps": draw.uniform(20, 90)}
        for i in range(90)
    ]
    resolved = resolve(problem_of(workloads, fleet=FLEET), PROFILES)
    dealing = Dealing(resolved)
    search = next(own[1] for own in dealing._types)
    assert len(search._sampled) < 90
    assert search._sample.number.sum() == 90
    dealing.improve(time.monotonic() + 1)
    least = dealing.rates().least[:, 0, -1]
    assert (least > 0).all()
    assert len(least) == 90


def test_where_no_gpu_is_used_no_box_is_parted():
    search = next(own[1] for own in Dealing(resolve(planted(0)[0], PROFILES))._types)
    before = search.deal
    search._used = np.zeros(len(before.boxes))
    assert not search._part()
    assert search.deal is before
