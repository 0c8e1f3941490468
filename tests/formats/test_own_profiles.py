"""Profiles that a problem brings itself: over all others, in its digest and file, and judged like those of a file."""

import pytest

from sliceplan.solver.api import check, solve
from sliceplan.solver.formats.problem_files import dump_problem, example_problems, parse_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.profile import MeasuredPoint, Profile, Provenance
from sliceplan.solver.what_if.points import used_profiles

DEMO = example_problems()["demo"]

MODEL = DEMO.workloads[0].model


def own(latency_ms, mig_profile="7g.80gb"):
    """Returns a profile of the demo's first model that knows one partition alone."""
    throughput_rps = 1000 * 8 / latency_ms
    point = MeasuredPoint(
        mig_profile=mig_profile, batch=8, processes=1, latency_ms=latency_ms, throughput_rps=throughput_rps
    )
    return Profile(
        model=MODEL, gpu="A100-80GB", provenance=Provenance(source="a test", method="made up"), points=(point,)
    )


def with_own(*profiles):
    return DEMO.model_copy(update={"profiles": profiles})


def partitions_of(plan):
    return {
        (partition.mig_profile, one.batch)
        for gpu in plan.gpus
        for partition in gpu.partitions
        for one in partition.serves
        if one.workload == DEMO.workloads[0].name
    }


def test_they_are_planned_with_instead_of_the_shipped_ones():
    problem = with_own(own(2.0))
    plan = solve(problem)
    assert partitions_of(plan) == {("7g.80gb", 8)} != partitions_of(solve(DEMO))
    assert check(problem, plan, shipped_profiles()) == []
    # What travels without the profiles of others has its own all the same.
    assert solve(problem, profiles=used_profiles(problem, shipped_profiles())).cost_per_hour == plan.cost_per_hour


def test_a_model_that_nobody_else_knows_is_known():
    renamed = own(2.0).model_copy(update={"model": "ours"})
    first = DEMO.workloads[0].model_copy(update={"model": "ours"})
    problem = with_own(renamed).model_copy(update={"workloads": (first,)})
    assert solve(parse_problem(dump_problem(problem), "ours.yaml")).status == "optimal"


def test_the_digest_has_them_and_is_the_old_one_without():
    digests = [reference(problem).sha256 for problem in (DEMO, with_own(own(2.0)), with_own(own(2.5)))]
    assert len(set(digests)) == 3
    assert reference(with_own()).sha256 == digests[0]


def test_a_file_brings_them_back():
    for problem in (with_own(own(2.0)), with_own(*shipped_profiles())):
        again = parse_problem(dump_problem(problem), "demo.yaml")
        assert again == problem
        assert reference(again) == reference(problem)


def test_what_cannot_be_of_a_gpu_type_is_said_with_its_place():
    wrong = with_own(own(2.0, "3g.20gb"))
    with pytest.raises(InputError, match=r"profiles\[0\]\.points\[0\]\.mig_profile.*A100-80GB has no such MIG profile"):
        parse_problem(dump_problem(wrong), "demo.yaml")
    twice = dump_problem(with_own(own(2.0))).replace("profiles:\n", "profiles:\n- &one {}\n", 1)
    with pytest.raises(InputError, match=r"profiles\[0\]"):
        parse_problem(twice, "demo.yaml")


def test_a_model_on_a_gpu_type_is_stated_once():
    with pytest.raises(InputError, match=f"listed twice: {MODEL} on A100-80GB"):
        parse_problem(dump_problem(with_own(own(2.0), own(3.0))), "demo.yaml")
