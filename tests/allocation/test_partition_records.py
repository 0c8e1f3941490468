"""Records that are made without validation are those that validation would make."""

import copy
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems.instances import problem_of, problems, random_problem

from sliceplan.solver.api import planners_for, solve
from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.base import records_of
from sliceplan.solver.model.plan import GpuCut, Partition, Plan, PlannedGpu, Served

SERVED = {
    "workload": "w",
    "batch": 4,
    "processes": 2,
    "latency_ms": 12.5,
    "capacity_rps": 640.0,
    "rate_rps": 600.0,
    "basis": "fitted",
    "causes_ms": None,
    "memory_mib": None,
    "promised_rps": None,
    "dispatch_after_ms": None,
}


def records(plan):
    """Yields all records of a plan that are made in numbers."""
    for gpu in plan.gpus:
        yield gpu
        for partition in gpu.partitions:
            yield partition
            yield from partition.serves
    yield from plan.metrics.gpus if plan.metrics else ()


def assert_is_what_validation_makes(plan):
    """Equal to what is read back, in types and in the order of the fields too."""
    read = Plan.model_validate_json(dump_plan(plan))
    assert read == plan
    assert dump_plan(read) == dump_plan(plan)
    for made, validated in zip(records(plan), records(read), strict=True):
        assert type(made) is type(validated)
        assert list(vars(made)) == list(vars(validated))
        assert [type(value) for value in vars(made).values()] == [type(value) for value in vars(validated).values()]


@settings(max_examples=40, deadline=None)
@given(problems(), st.sampled_from(["exact", "parvagpu", "paris", "migserving-greedy", "best-split"]))
def test_plans_of_random_problems_are_what_their_files_say(problem, planner):
    if planner in planners_for(problem):
        assert_is_what_validation_makes(solve(problem, planner))


@pytest.mark.parametrize("name", ["demo", "mixed", "igniter"])
def test_plans_of_the_examples_are_what_their_files_say(name):
    problem = example_problems()[name]
    plan = solve(problem)
    assert_is_what_validation_makes(plan)


def test_partitions_that_are_kept_free_are_what_their_file_says():
    problem = example_problems()["demo"]
    kept = problem.model_copy(update={"settings": problem.settings.model_copy(update={"spare_gpu_loss": True})})
    plan = solve(kept)
    assert any(not partition.serves for gpu in plan.gpus for partition in gpu.partitions)
    assert_is_what_validation_makes(plan)


def test_partitions_of_one_size_that_serve_one_workload_share_a_record():
    plan = solve(random_problem(200, seed=2))
    seen = {}
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            (served,) = partition.serves
            assert seen.setdefault((served.workload, gpu.gpu, partition.mig_profile), served) is served


def test_gpus_fill_the_nodes_of_their_entry_in_order():
    nodes = [{"name": "n1", "count": 2}, {"name": "n2", "count": 1}, {"name": "n3", "count": 8}]
    rates = [{"model": "resnet50", "rate_rps": 19000, "slo_ms": 200}]
    plan = solve(problem_of(rates, fleet=[{"gpu": "A100-80GB", "nodes": nodes}]))
    expected = [("n1", 0), ("n1", 1), ("n2", 0), *(("n3", i) for i in range(8))]
    assert plan.gpus_used > 3
    assert [(gpu.node, gpu.index) for gpu in plan.gpus] == expected[: plan.gpus_used]


def test_an_unvalidated_record_behaves_like_a_validated_one():
    (made,) = records_of(Served, **{name: [value] for name, value in SERVED.items() if value is not None})
    validated = Served.model_validate(SERVED)
    assert made == validated
    assert hash(made) == hash(validated)
    assert repr(made) == repr(validated)
    assert made.model_fields_set == validated.model_fields_set
    assert made.model_dump_json() == validated.model_dump_json()
    changed = made.model_copy(update={"batch": 8})
    assert (changed.batch, made.batch) == (8, 4)
    for copied in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert copied == validated
    with pytest.raises(ValueError, match="frozen"):
        made.batch = 8


@pytest.mark.parametrize("record", [Served, Partition, PlannedGpu, GpuCut])
def test_records_made_without_validation_have_no_state_beside_their_fields(record):
    """Else `records_of` would leave it unset."""
    assert not record.__private_attributes__
    assert record.model_config["extra"] == "forbid"
    assert record.model_config["frozen"]


def test_columns_become_records_and_a_field_without_one_is_none():
    first, second = records_of(Partition, start=[0, None], serves=[(), ()])
    assert (first.start, second.start, first.mig_profile, first.sm_percent) == (0, None, None, None)
    assert first == Partition(mig_profile=None, start=0, sm_percent=None, duty_cycle_ms=None, serves=())
    assert records_of(Partition, start=[]) == []


def test_columns_that_cannot_be_are_refused():
    with pytest.raises(TypeError, match="Partition has no field size"):
        records_of(Partition, start=[0], size=[1])
    with pytest.raises(ValueError, match=r"the columns of Partition differ in length: \[1, 2\]"):
        records_of(Partition, start=[0], serves=[(), ()])
