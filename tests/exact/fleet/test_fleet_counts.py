"""Cuts on the counts of GPUs of fleets with MPS prove no more than there is, against oracles that share no code."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from oracles.mps_oracle import STRICT, Oracle, TooLargeError
from problems.igniter_instances import V100, random_mps_problem
from problems.instances import problem_of, random_problem
from problems.mps_draws import drawn, small_gpus
from scipy.optimize import Bounds, LinearConstraint, milp

from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.dual.lagrangian_dual import best_prices
from sliceplan.solver.exact.dual.supply import Supply
from sliceplan.solver.exact.fleet.fleet_by_dealt_costs import with_dealt_bound
from sliceplan.solver.exact.fleet.fleet_by_prices import FleetPrices, fleet_prices
from sliceplan.solver.exact.fleet.fleet_counts import COUNTS, with_count_cuts
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.unservable import unservable


def in_s(seconds):
    return time.monotonic() + seconds


def by_integers(supply, part):
    """Returns the least cost of partitions that carry all rates, cut from whole GPUs; None: too few GPUs."""
    workloads, sizes = part.shape
    cuts = len(supply.cost)
    cost = np.concatenate([np.zeros(workloads * sizes), supply.cost])
    carried = np.hstack([np.kron(np.eye(workloads), np.ones(sizes)) * part.ravel(), np.zeros((workloads, cuts))])
    held = np.hstack([-np.tile(np.eye(sizes), workloads), supply.instances.T])
    counted = np.hstack(
        [
            np.zeros((len(supply.available), workloads * sizes)),
            supply.gpu_type == np.arange(len(supply.available))[:, None],
        ]
    )
    rows = [
        LinearConstraint(carried, 1.0, np.inf),
        LinearConstraint(held, 0.0, np.inf),
        LinearConstraint(counted, 0.0, supply.available),
    ]
    found = milp(cost, constraints=rows, integrality=np.ones(len(cost)), bounds=Bounds(0, np.inf))
    return float(found.fun) if found.status == 0 else None


def drawn_cuts(seed):
    """Returns a fleet of two or three types with prices that are no multiples of each other, and what sizes carry."""
    draw = np.random.default_rng(seed)
    types, sizes = int(draw.integers(2, 4)), int(draw.integers(2, 5))
    of_type = draw.permutation(np.arange(sizes) % types)
    instances, gpu_type = [], []
    for g in range(types):
        for _ in range(int(draw.integers(1, 4))):
            instances.append(np.where(of_type == g, draw.integers(0, 4, sizes), 0))
            gpu_type.append(g)
        if (of_type == g).any():
            instances.append((of_type == g).astype(np.int64))
            gpu_type.append(g)
    price = draw.choice([1.0, 1.83, 2.4, 3.43, 0.71], types, replace=False)
    kinds = np.array(gpu_type)
    counts = np.where(draw.random(types) < 0.3, draw.integers(2, 12, types).astype(float), np.inf)
    supply = Supply(np.array(instances, dtype=np.int64), kinds, price[kinds], counts)
    part = np.where(draw.random((draw.integers(2, 7), sizes)) < 0.8, draw.uniform(0.1, 1.2, sizes), 0.0)
    part[~(part > 0).any(axis=1), 0] = 0.5
    return supply, np.minimum(part, 1.0), price


def test_of_drawn_fleets_no_bound_passes_the_integer_optimum_and_some_reach_it_by_cuts_alone():
    judged = raised = reached = 0
    for seed in range(60):
        supply, part, price = drawn_cuts(seed)
        least = by_integers(supply, part)
        if least is None:
            continue
        demands = Demands(part, np.ones(len(part), dtype=np.int64), np.full(len(part), NO_LIMIT))
        priced = best_prices(demands, supply, start=None, enough=np.inf, deadline=in_s(10))
        fleet = [
            SimpleNamespace(gpu=SimpleNamespace(name=f"g{g}"), price_per_hour=p) for g, p in enumerate(price.tolist())
        ]
        resolved = SimpleNamespace(fleet=fleet, gap=0.0)
        prices = FleetPrices(priced, priced.bound, SimpleNamespace(supply=supply, demands=demands))
        for known in (least, 1.3 * least):
            found = with_count_cuts(resolved, prices, round(known, 6), deadline=in_s(10))
            assert found.bound <= least * (1 + 1e-9) + 1e-9, seed
        judged += 1
        raised += found.method == COUNTS
        reached += found.method == COUNTS and found.bound > least * (1 - 1e-9)
    assert judged >= 40
    assert raised >= 15
    assert reached >= 5


def test_on_all_coefficients_no_count_cut_passes_the_cheapest_plan():
    """Services that may be split and that may not, on several types, some whole too, judged by trying everything."""
    judged = raised = 0
    with small_gpus():
        for seed in range(90):
            problem, profiles = drawn(seed)
            try:
                resolved = resolve(problem, profiles)
                if len(problem.fleet) == 1 or not resolved.mps or unservable(resolved):
                    continue
                least = Oracle(problem, profiles, STRICT).cheapest(1e12)
            except (InputError, TooLargeError):
                continue
            if least is None:
                continue
            for dealt in (False, True):
                prices = fleet_prices(resolved, deadline=in_s(10))
                if dealt:
                    prices = with_dealt_bound(resolved, prices, 2 * least, deadline=in_s(0.3))
                found = with_count_cuts(resolved, prices, 2 * least, deadline=in_s(5))
                assert found.bound <= least * (1 + 1e-6), seed
                raised += found.method == COUNTS
            judged += 1
    assert judged >= 10
    assert raised >= 1


@pytest.mark.parametrize("seed", [0, 1])
def test_on_a_fleet_of_two_prices_whole_gpus_prove_more_than_prices(seed):
    services = [w.model_dump(mode="json") for w in random_problem(40, seed).workloads]
    shared = random_mps_problem(10, seed).workloads
    services += [{**w.model_dump(mode="json"), "name": f"shared-{w.name}"} for w in shared]
    fleet = [{"gpu": "A100-80GB", "sharing": ["mig"]}, {"gpu": V100, "sharing": ["mps", "exclusive"]}]
    resolved = resolve(problem_of(services, fleet=fleet), shipped_profiles())
    prices = fleet_prices(resolved, deadline=in_s(10))
    found = with_count_cuts(resolved, prices, prices.bound * 1.05, deadline=in_s(10))
    assert found.method == COUNTS
    assert found.bound > prices.bound * (1 + 1e-4)
    # Such a cost is one of whole GPUs.
    dear, cheap = (entry.price_per_hour for entry in resolved.fleet)
    left = [(found.bound - dear * n) / cheap for n in range(int(found.bound / dear) + 1)]
    assert min(abs(one - round(one)) for one in left) < 1e-6 or found.bound == pytest.approx(prices.bound * 1.05)


def test_without_a_plan_or_with_one_price_there_is_nothing_to_count():
    shared = random_mps_problem(6, 1)
    resolved = resolve(shared, shipped_profiles())
    prices = fleet_prices(resolved, deadline=in_s(10))
    assert with_count_cuts(resolved, prices, 100.0, deadline=in_s(10)) is prices
    both = shared.model_copy(update={"fleet": (*shared.fleet, random_problem(1, 1).fleet[0])})
    resolved = resolve(both, shipped_profiles())
    prices = fleet_prices(resolved, deadline=in_s(10))
    assert with_count_cuts(resolved, prices, None, deadline=in_s(10)) is prices
