"""Where whole GPUs need not be looked for: the least cost without them is that with them."""

from dataclasses import replace

import numpy as np
import pytest
from oracles.mps_oracle import STRICT, Oracle, TooLargeError
from problems.igniter_instances import V100, random_mps_problem
from problems.instances import problem_of
from problems.mps_draws import drawn, small_gpus

from sliceplan.solver import api
from sliceplan.solver.check import check
from sliceplan.solver.exact.fleet.whole_or_shared import shared_instead_of_whole
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.performance.resolve import resolve

PROFILES = shipped_profiles()


def both_ways(count, seed, *, most=1, **settings):
    """Returns services for V100s that may be whole or shared."""
    services = [{**w.model_dump(mode="json"), "max_replicas": most} for w in random_mps_problem(count, seed).workloads]
    return problem_of(services, fleet=[{"gpu": V100, "sharing": ["mps", "exclusive"]}], **settings)


def with_sharing(problem, sharing):
    """Returns the problem with GPUs that may be shared only in one of these ways; as it is where that leaves none."""
    fleet = [entry.model_dump() for entry in problem.fleet]
    fleet = [{**entry, "sharing": [one for one in entry["sharing"] if one in sharing]} for entry in fleet]
    return Problem.model_validate({**problem.model_dump(), "fleet": [entry for entry in fleet if entry["sharing"]]})


def test_trying_everything_finds_nothing_cheaper_with_whole_gpus():
    """Over all coefficients, some so steep that all of a GPU is not its best share."""
    judged = 0
    with small_gpus():
        for seed in range(400):
            problem, profiles = drawn(seed)
            services = [{**w.model_dump(), "min_replicas": 1, "max_replicas": 1} for w in problem.workloads]
            problem = Problem.model_validate({**problem.model_dump(), "workloads": services})
            if problem.settings.mps_rules == "igniter" or not any("mps" in entry.sharing for entry in problem.fleet):
                continue
            try:
                resolved = resolve(problem, profiles)
                changed = shared_instead_of_whole(resolved)
                if changed is resolved or changed.capacity_rps.any():
                    continue
                least = Oracle(problem, profiles, STRICT).cheapest(1e12)
                shared = Oracle(with_sharing(problem, ("mps",)), profiles, STRICT).cheapest(1e12)
            except (InputError, TooLargeError):
                continue
            assert least == pytest.approx(shared), seed
            judged += least is not None
            if judged == 6:
                return
    raise AssertionError(f"only {judged} problems were judged")


@pytest.mark.parametrize("problem", [both_ways(4, 0, most=None), both_ways(4, 0, most=2)])
def test_services_that_may_be_split_keep_whole_gpus(problem):
    resolved = resolve(problem, PROFILES)
    assert resolved.capacity_rps.any()
    assert shared_instead_of_whole(resolved) is resolved


def test_one_service_that_may_be_split_is_enough_for_whole_gpus_to_stay():
    services = [{**w.model_dump(mode="json"), "max_replicas": 1} for w in random_mps_problem(4, 0).workloads]
    services[2]["max_replicas"] = None
    resolved = resolve(problem_of(services, fleet=[{"gpu": V100, "sharing": ["mps", "exclusive"]}]), PROFILES)
    assert shared_instead_of_whole(resolved) is resolved


@pytest.mark.parametrize("field", ["mig", "cores"])
def test_parts_of_a_gpu_that_may_be_shared_too_are_not_looked_for_in_vain(field):
    """They may lie beside others, as no resident of all of a GPU does."""
    resolved = resolve(both_ways(4, 0), PROFILES)
    assert shared_instead_of_whole(resolved) is not resolved
    parts = replace(resolved, sizes=tuple(replace(size, **{field: "a part"}) for size in resolved.sizes))
    assert shared_instead_of_whole(parts) is parts


def test_gpus_that_may_not_be_shared_stay_whole():
    resolved = replace(resolve(both_ways(4, 0), PROFILES), mps={})
    assert shared_instead_of_whole(resolved) is resolved


def test_iGniters_rules_keep_them_for_they_leave_no_choice_of_batch_sizes():  # noqa: N802
    resolved = resolve(both_ways(4, 0, mps_rules="igniter"), PROFILES)
    assert shared_instead_of_whole(resolved) is resolved


def test_a_whole_gpu_that_carries_more_of_some_service_than_any_share_is_kept():
    resolved = resolve(both_ways(4, 0), PROFILES)
    assert not shared_instead_of_whole(resolved).capacity_rps.any()
    more = resolved.capacity_rps * np.array([1, 1, 1.001, 1])[:, None]
    faster = replace(resolved, capacity_rps=more)
    assert shared_instead_of_whole(faster) is faster


def test_partitions_and_types_that_are_not_shared_stay():
    services = [{"model": "resnet50", "rate_rps": 100, "slo_ms": 60, "max_replicas": 1}]
    fleet = [{"gpu": V100, "sharing": ["mps", "exclusive"]}, {"gpu": "A100-80GB", "sharing": ["mig"]}]
    resolved = resolve(problem_of(services, fleet=fleet), PROFILES)
    changed = shared_instead_of_whole(resolved).capacity_rps.any(axis=0).tolist()
    usable = (resolved.capacity_rps[0] > 0).tolist()
    assert changed == [size.gpu != V100 and own for size, own in zip(resolved.sizes, usable, strict=True)]
    assert any(changed)


def test_gpus_that_may_be_whole_too_are_proven_as_those_that_are_shared():
    """12 services: by what neighbours leave alone the bound was a GPU lower."""
    problem = both_ways(12, 0)
    plan = api.solve(problem, time_limit_s=5)
    assert plan.status == "optimal"
    assert check(problem, plan, PROFILES) == []
    assert plan.cost_per_hour == api.solve(with_sharing(problem, ("mps",)), time_limit_s=5).cost_per_hour
    # A whole GPU is worth what one is that is shared.
    assert {size.usd_per_hour for size in plan.prices.sizes} == set(plan.prices.shared.values())
