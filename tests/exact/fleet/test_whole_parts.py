"""Services that may be split, planned in whole parts: no dearer than the cheapest of these, and no more is claimed."""

import random
import time

import numpy as np
import pytest
from problems.igniter_instances import FLEET, V100, random_mps_problem
from problems.instances import problem_of

from sliceplan.solver.allocation.allocated import MpsGpu, Resident
from sliceplan.solver.allocation.assembly import UNKNOWN_BOUND, assemble
from sliceplan.solver.api import solve
from sliceplan.solver.api.finishing import finish_plan
from sliceplan.solver.check import check
from sliceplan.solver.exact.fleet.first_fleet import first_fleet
from sliceplan.solver.exact.fleet.fleet_answer import price_of
from sliceplan.solver.exact.fleet.fleet_by_prices import fleet_prices
from sliceplan.solver.exact.fleet.kept_limits import keeps_limits
from sliceplan.solver.exact.fleet.mixed_fleet import _in_whole_parts
from sliceplan.solver.exact.fleet.whole_parts import whole_parts
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Search
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.performance.alone import alone_on
from sliceplan.solver.performance.resolve import resolve

PROFILES = shipped_profiles()


def services_of(count, seed, *, most, sharing=("mps",), least=1, **settings):
    """Returns a problem whose services may have so many replicas, on V100s."""
    services = [
        {**one.model_dump(mode="json"), "min_replicas": least, "max_replicas": most}
        for one in random_mps_problem(count, seed).workloads
    ]
    return problem_of(services, fleet=[{"gpu": V100, "sharing": list(sharing)}], **settings)


@pytest.mark.parametrize("sharing", [("mps",), ("mps", "exclusive")])
@pytest.mark.parametrize("seed", range(3))
def test_a_plan_is_no_dearer_than_the_cheapest_in_whole_parts(seed, sharing):
    problem = services_of(5, seed, most=None, sharing=sharing)
    resolved = resolve(problem, PROFILES)
    whole = services_of(5, seed, most=1, sharing=sharing)
    # Few enough for a program over all sets, which looks at no surroundings.
    by_sets = solve(whole, profiles=PROFILES, time_limit_s=60)
    assert by_sets.bound.method.startswith("dual bound of the program over all sets")
    prices = fleet_prices(resolved, deadline=time.monotonic() + 60)
    first = list(first_fleet(resolved, prices, deadline=time.monotonic() + 60))
    heard = []
    found = _in_whole_parts(resolved, prices, first, heard.append, time.monotonic() + 600)
    assert price_of(resolved, found.gpus) <= min(by_sets.cost_per_hour, price_of(resolved, first)) * (1 + 1e-9)
    assert keeps_limits(resolved, found.gpus)
    # The bound stays the one of services that may be split.
    assert found.cost_bound == prices.bound
    assert {one.cost_bound for one in heard} <= {prices.bound}


@pytest.mark.parametrize(
    "problem",
    [
        services_of(3, 0, most=1),
        services_of(3, 0, most=None, mps_rules="igniter"),
    ],
)
def test_services_that_are_whole_are_left_alone(problem):
    assert whole_parts(resolve(problem, PROFILES)) is None


@pytest.mark.parametrize(
    ("most", "least", "times", "expected"),
    [
        ([None, None, None], [1, 1, 1], [1, 1, 1], [1, 1, 1]),
        ([1, None, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]),
        ([1, 4, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]),
        ([1, 1, 1], [1, 1, 1], [1, 1, 1], None),
        ([None, 3, None], [1, 2, 1], [1, 1, 1], [1, 2, 1]),
        ([None, None, None], [2, 2, 3], [1, 1, 1], [2, 2, 3]),
        ([None, None, 7], [1, 2, 1], [2.5, 1, 6.5], [3, 2, 7]),
        ([None, None, 6], [1, 2, 1], [2.5, 1, 6.5], None),  # it may not have so many
    ],
)
def test_each_service_is_as_many_parts_as_it_takes_and_has_to_have(most, least, times, expected):
    """`times`: rates as multiples of what a resident carries alone at most."""
    drawn = [one.model_dump(mode="json") for one in random_mps_problem(3, 0).workloads]
    (mps,) = (known := resolve(problem_of(drawn, fleet=FLEET), PROFILES)).mps.values()
    greatest = alone_on(mps, known.limit_ms).greatest_rps
    rates = [one["rate_rps"] if k == 1 else k * float(c) for one, k, c in zip(drawn, times, greatest, strict=True)]
    services = [
        {**one, "rate_rps": rate, "min_replicas": fewest, "max_replicas": number}
        for one, rate, number, fewest in zip(drawn, rates, most, least, strict=True)
    ]
    resolved = resolve(problem_of(services, fleet=FLEET), PROFILES)
    found = whole_parts(resolved)
    assert (found is None) is (expected is None)
    if found is None:
        return
    assert np.bincount(found.service).tolist() == expected
    assert {(one.min_replicas, one.max_replicas) for one in found.resolved.problem.workloads} == {(1, 1)}
    sums = np.bincount(found.service, weights=found.resolved.required_rps)
    assert sums == pytest.approx(resolved.required_rps)
    known = [MpsGpu(V100, (Resident(2, 1, 10.0), Resident(0, 2, 20.0))), MpsGpu(V100, (Resident(1, 1, 5.0),))]
    translated = found.of_parts(known)
    first = np.cumsum([0, *expected]).tolist()
    assert [gpu.workloads for gpu in translated] == [(first[2], first[0]), (first[1],)]
    assert found.of_services(translated) == known


def test_parts_ask_with_the_rate_of_all_of_their_service():
    """Of requests dealt in turns every second one is more even, so a half carries more than half as much alone."""
    services = [{"name": "a", "model": "resnet50", "slo_ms": 60, "rate_rps": 600, "min_replicas": 2}]
    resolved = resolve(problem_of(services, fleet=FLEET, latency="percentile"), PROFILES)
    found = whole_parts(resolved)
    (mps,) = found.resolved.mps.values()
    assert mps.promise.asked.rate_rps.tolist() == [600.0, 600.0]
    assert found.resolved.required_rps.tolist() == [300.0, 300.0]


@pytest.mark.parametrize("settings", [{}, {"latency": "percentile", "quantile": 0.95}])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.usefixtures("limits_of_cpu")
def test_plans_of_parts_serve_services_that_no_resident_carries(seed, settings):
    """Held by `check`, which knows nothing of parts; some services must have two replicas, some need them."""
    draw = random.Random(seed)
    services = [
        {
            **one.model_dump(mode="json"),
            "slo_ms": 3 * one.slo_ms,
            "rate_rps": one.rate_rps * draw.choice([1, 1, 4]),
            "min_replicas": draw.choice([1, 1, 2]),
            "max_replicas": None,
        }
        for one in random_mps_problem(14, seed).workloads
    ]
    problem = problem_of(services, fleet=FLEET, **settings)
    resolved = resolve(problem, PROFILES)
    parts = whole_parts(resolved)
    assert len(parts.service) > len(services)
    prices = fleet_prices(resolved, deadline=time.monotonic() + 60)
    first = list(first_fleet(resolved, prices, deadline=time.monotonic() + 60))
    twice = [*first, *first]
    found = _in_whole_parts(resolved, prices, twice, lambda _: None, time.monotonic() + 3)
    assert price_of(resolved, found.gpus) < price_of(resolved, twice)
    assert np.bincount([w for gpu in found.gpus for w in gpu.workloads]).tolist() == np.bincount(parts.service).tolist()
    assert keeps_limits(resolved, found.gpus)
    search = Search(stopped=StopReason.TIME_LIMIT, time_limit_s=3.0, solver=None)
    plan = assemble(resolved, found.gpus, planner="exact", bound=UNKNOWN_BOUND, search=search)
    assert not check(problem, finish_plan(problem, plan, PROFILES), PROFILES)
