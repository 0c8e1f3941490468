"""Services that may be split, planned as whole ones: no dearer than the cheapest of these, and no more is claimed."""

import time

import pytest
from problems.igniter_instances import V100, random_mps_problem
from problems.instances import problem_of

from sliceplan.solver.api import solve
from sliceplan.solver.exact.fleet.first_fleet import first_fleet
from sliceplan.solver.exact.fleet.fleet_answer import price_of
from sliceplan.solver.exact.fleet.fleet_by_prices import fleet_prices
from sliceplan.solver.exact.fleet.kept_limits import keeps_limits
from sliceplan.solver.exact.fleet.mixed_fleet import _of_whole_services
from sliceplan.solver.exact.fleet.unsplit import unsplit
from sliceplan.solver.formats.profile_files import shipped_profiles
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
def test_a_plan_is_no_dearer_than_the_cheapest_of_whole_services(seed, sharing):
    problem = services_of(5, seed, most=None, sharing=sharing)
    resolved = resolve(problem, PROFILES)
    whole = services_of(5, seed, most=1, sharing=sharing)
    # Few enough for a program over all sets, which looks at no surroundings.
    by_sets = solve(whole, profiles=PROFILES, time_limit_s=60)
    assert by_sets.bound.method.startswith("dual bound of the program over all sets")
    prices = fleet_prices(resolved, deadline=time.monotonic() + 60)
    first = list(first_fleet(resolved, prices, deadline=time.monotonic() + 60))
    heard = []
    found = _of_whole_services(resolved, prices, first, heard.append, time.monotonic() + 600)
    assert price_of(resolved, found.gpus) <= min(by_sets.cost_per_hour, price_of(resolved, first)) * (1 + 1e-9)
    assert keeps_limits(resolved, found.gpus)
    # The bound stays the one of services that may be split.
    assert found.cost_bound == prices.bound
    assert {one.cost_bound for one in heard} <= {prices.bound}


@pytest.mark.parametrize(
    "problem",
    [
        services_of(3, 0, most=1),
        services_of(3, 0, most=4, least=2),
        services_of(3, 0, most=None, mps_rules="igniter"),
    ],
)
def test_services_that_are_whole_or_must_be_split_are_left_alone(problem):
    assert unsplit(resolve(problem, PROFILES)) is None


@pytest.mark.parametrize(
    ("most", "least", "changes"),
    [
        ([None, None, None], [1, 1, 1], True),
        ([1, None, 1], [1, 1, 1], True),
        ([1, 4, 1], [1, 1, 1], True),
        ([1, 1, 1], [1, 1, 1], False),
        ([None, 3, None], [1, 2, 1], False),  # one needs more than one
        ([None, None, None], [2, 2, 2], False),
    ],
)
def test_where_no_service_needs_more_than_one_replica_none_has_more(most, least, changes):
    services = [
        {**one.model_dump(mode="json"), "min_replicas": fewest, "max_replicas": number}
        for one, number, fewest in zip(random_mps_problem(3, 0).workloads, most, least, strict=True)
    ]
    resolved = resolve(problem_of(services, fleet=[{"gpu": V100, "sharing": ["mps"]}]), PROFILES)
    whole = unsplit(resolved)
    assert (whole is not None) is changes
    if whole is not None:
        assert [one.max_replicas for one in whole.problem.workloads] == [1, 1, 1]
        assert [one.rate_rps for one in whole.problem.workloads] == [one["rate_rps"] for one in services]
        assert whole.mps is resolved.mps
