"""Which of alike services are those that the program's GPUs serve."""

from types import SimpleNamespace

import numpy as np
import pytest
from problems.igniter_instances import random_mps_problem
from problems.instances import problem_of

from sliceplan.solver.exact.mps.program import NO_SHARES
from sliceplan.solver.exact.shedding.most_served import _most_served
from sliceplan.solver.exact.shedding.shortfall import _without_a_recipe
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve


def three_alike(settled, chosen):
    """Returns which of three alike services, and of another one, are served by an answer that names these."""
    one, other = random_mps_problem(2, 0).workloads
    alike = [one.model_copy(update={"name": f"alike-{i}"}) for i in range(3)]
    problem = random_mps_problem(2, 0).model_copy(update={"workloads": (*alike, other)})
    resolved = resolve(problem, shipped_profiles())
    program = SimpleNamespace(
        is_served=range(4),
        shared=SimpleNamespace(settled=settled, decode=lambda _: NO_SHARES),
        cut=lambda _: (),
        partitions=lambda _: np.ones(resolved.capacity_rps.shape, dtype=np.int64),
        spares=lambda _: None,
    )
    return _most_served(resolved, program, {i: float(i in chosen) for i in range(4)}, 4.0)


@pytest.mark.parametrize(
    ("settled", "served"),
    [({0, 1, 2}, [True, True, False, True]), ({0, 1}, [False, True, True, True]), (set(), [False, True, True, True])],
)
def test_of_alike_services_under_mps_the_first_are_served_to_whom_residents_are_dealt(settled, served):
    """Only where residents are dealt within the class: else the program says itself who is served."""
    assert three_alike(settled, {1, 2, 3}).served == served


def test_nothing_is_served_where_the_program_has_no_answer():
    one = random_mps_problem(2, 0)
    resolved = resolve(one, shipped_profiles())
    found = _most_served(resolved, SimpleNamespace(), None, 2.0)
    assert (found.served, found.most, found.patterns, found.spares) == ([False, False], 2.0, (), None)
    assert not found.partitions.any()


@pytest.mark.parametrize(
    ("proven", "tried"), [(True, "no allowed number of replicas"), (False, "no number of replicas that was tried")]
)
def test_what_the_rules_of_mps_keep_from_every_gpu_is_said_as_a_fact_only_where_it_is_one(proven, tried):
    services = [{"model": "alexnet", "rate_rps": 500, "slo_ms": 30, "min_replicas": least} for least in (1, 2)]
    problem = problem_of(services, fleet=[{"gpu": "V100-SXM2-16GB", "sharing": ["mps"]}], mps_rules="igniter")
    (lost,) = _without_a_recipe(resolve(problem, shipped_profiles()), proven)
    assert lost.workload == "w1"
    assert f"{tried} serves it" in lost.reason


def test_a_service_that_some_size_of_mig_serves_is_not_lost():
    services = [{"model": "resnet50", "rate_rps": 500, "slo_ms": 40, "min_replicas": 2, "memory_mib": 12000}]
    fleet = [{"gpu": "V100-SXM2-16GB", "sharing": ["mps"]}, {"gpu": "A100-80GB"}]
    resolved = resolve(problem_of(services, fleet=fleet, mps_rules="igniter"), shipped_profiles())
    assert resolved.capacity_rps.any()
    assert not resolved.capacity_rps.all()
    assert _without_a_recipe(resolved, True) == []
