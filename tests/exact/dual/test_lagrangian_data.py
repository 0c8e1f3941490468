"""What a search begins with: the covers and prices of a known plan, and what a plan costs at most."""

import numpy as np
import pytest
from problems.instances import problem_of
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.api import solve
from sliceplan.solver.exact.dual.lagrangian_data import known_covers, known_prices, most_to_pay
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

A100 = "A100-80GB"
SERVICES = [{"model": "resnet50", "rate_rps": rate, "slo_ms": 200} for rate in (900, 300)]


def resolved(fleet=({"gpu": A100},), services=SERVICES):
    return resolve(problem_of(services, fleet=list(fleet)), shipped_profiles())


def test_known_covers_are_the_partitions_of_each_service_of_the_problem():
    one = resolved()
    names = [size.name for size in one.sizes]
    plan = plan_of(
        gpu_of(
            f"{A100}/0",
            partition_of("3g.40gb@0", "w0", 10),
            partition_of("1g.10gb@4", "w1", 10),
            partition_of("1g.10gb@5", "w1", 10),
            partition_of("1g.10gb@6", "gone", 10),
        ),
        gpu_of(f"{A100}/1", partition_of(50, "w0", 10)),
        gpu_of("T4/0", partition_of(None, "w0", 10)),
    )
    sizes = np.array([names.index("1g.10gb"), names.index("3g.40gb")])
    assert known_covers(one, plan, sizes).tolist() == [[0, 1], [2, 0]]
    assert known_covers(one, plan, sizes[:1]).tolist() == [[0], [2]]
    assert known_covers(one, None, sizes) is None
    assert known_covers(one, plan.prices, sizes) is None


def test_known_prices_are_those_of_all_sizes_or_none():
    one = resolved()
    plan = solve(one.problem)
    sizes = np.arange(len(one.sizes))
    expected = {size.mig_profile: size.usd_per_hour for size in plan.prices.sizes}
    assert known_prices(one, plan, sizes).tolist() == [expected[size.kind] for size in one.sizes]
    assert known_prices(one, plan.prices, sizes[1:2]).tolist() == [expected[one.sizes[1].kind]]
    assert known_prices(one, None, sizes) is None
    assert known_prices(one, plan.model_copy(update={"prices": None}), sizes) is None
    fewer = plan.prices.model_copy(update={"sizes": plan.prices.sizes[1:]})
    assert known_prices(one, fewer, sizes) is None


@pytest.mark.parametrize(("least", "gpus"), [(1, 2), (3, 4)])
def test_a_plan_costs_at_most_a_gpu_for_each_partition_that_services_need_alone(least, gpus):
    """Each fits a whole GPU here, so a GPU each is enough, or one for each replica that it must have."""
    services = [SERVICES[0], {**SERVICES[1], "min_replicas": least}]
    fleet = [{"gpu": A100, "price_per_hour": 2.0}]
    assert most_to_pay(resolved(fleet, services)) == pytest.approx(2.0 * gpus)


def test_limited_gpus_count_in_full_and_unlimited_ones_at_the_cheapest_that_serves():
    fleet = [{"gpu": A100, "price_per_hour": 2.0, "count": 3}]
    assert most_to_pay(resolved(fleet)) == pytest.approx(6.0)
    fleet += [{"gpu": "T4", "price_per_hour": 1.0, "sharing": ["exclusive"]}]
    slow = [{"model": "vgg19", "rate_rps": 20, "slo_ms": 200}]
    assert most_to_pay(resolved(fleet, slow)) == pytest.approx(7.0)
