"""Which services are customers: those that are each one resident of one GPU, whichever type."""

from dataclasses import replace

import pytest
from oracles import igniter_scalar
from problems.igniter_instances import COEFFICIENTS, FLEET, GPU, MODELS
from problems.instances import problem_of

from sliceplan.solver.exact.mps.items import mps_items
from sliceplan.solver.exact.surroundings.customers import customers_of
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

SMALL = {"model": "alexnet", "rate_rps": 300, "slo_ms": 30}
LARGE = {"model": "vgg19", "rate_rps": 3000, "slo_ms": 40}


def customers(*workloads, fleet=FLEET, **settings):
    resolved = resolve(problem_of(workloads, fleet=fleet, **settings), shipped_profiles())
    return customers_of(resolved, mps_items(resolved, parts=False))


def test_alike_services_are_one_customer_that_is_wanted_as_often():
    found = customers(SMALL, SMALL, {**SMALL, "rate_rps": 200}, mps_rules="igniter")
    assert found.wanted.tolist() == [2.0, 1.0]
    (one,) = found.types
    assert set(one.customer.tolist()) == {0, 1}
    assert one.customer.tolist().count(0) <= 2


@pytest.mark.parametrize(
    ("workloads", "more"),
    [
        ([LARGE], {"mps_rules": "igniter"}),  # more than a GPU carries
        ([SMALL, LARGE], {"mps_rules": "igniter"}),
        ([SMALL], {}),  # its rate may be split
        ([SMALL, {**SMALL, "max_replicas": 1}], {}),
        ([{**SMALL, "min_replicas": 2}], {"mps_rules": "igniter"}),  # there is no recipe for it
        ([SMALL], {"mps_rules": "igniter", "fleet": [*FLEET, {"gpu": "T4", "sharing": ["exclusive"]}]}),
    ],
)
def test_a_service_that_may_be_served_otherwise_makes_no_customers(workloads, more):
    """A bound by prices of whole services would be wrong for it."""
    assert customers(*workloads, **more) is None


def test_services_that_are_whole_are_customers_under_free_rules():
    assert customers({**SMALL, "max_replicas": 1}).wanted.tolist() == [1.0]


@pytest.mark.parametrize("rate_rps", [100, 300, 700])
def test_a_service_is_a_customer_of_a_gpu_that_has_just_the_units_that_it_needs(rate_rps):
    """By the scalar equations."""
    workload = {**SMALL, "rate_rps": rate_rps}
    resolved = resolve(problem_of([workload], fleet=FLEET, mps_rules="igniter"), shipped_profiles())
    model = COEFFICIENTS[MODELS.index("alexnet")]
    batch = igniter_scalar.appropriate_batch(model, GPU, SMALL["slo_ms"] / 2, rate_rps)
    units = next(
        units
        for units in range(1, 41)
        for found in igniter_scalar.predict(GPU, [(model, batch, 2.5 * units)])
        if found.latency_ms <= SMALL["slo_ms"] / 2 and found.throughput_rps >= rate_rps
    )
    ((gpu, mps),) = resolved.mps.items()
    for capacity, is_one in ((units - 1, False), (units, True), (units + 1, True)):
        on = replace(resolved, mps={gpu: replace(mps, capacity_units=capacity)})
        assert (customers_of(on, mps_items(on, parts=False)) is not None) == is_one


def test_surroundings_need_services_that_share():
    assert customers({**SMALL, "model": "alexnet"}, fleet=[{"gpu": "T4", "sharing": ["exclusive"]}]) is None
