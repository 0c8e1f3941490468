"""Problems and plans between processes: what comes out of pickle is what went in, whatever the lists hold."""

import pickle
import random

import pytest
from problems.instances import random_problem

from sliceplan.solver import api
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.in_columns import LONG
from sliceplan.solver.model.plan import Metrics, PlannedGpu


def through_pickle(record):
    return pickle.loads(pickle.dumps(record, pickle.HIGHEST_PROTOCOL))


def records_in(value):
    """All records of a record, from the outside in, by a walk of its own."""
    if hasattr(value, "model_fields_set"):
        yield value
        value = list(value.__dict__.values())
    if isinstance(value, tuple | list):
        for one in value:
            yield from records_in(one)


def assert_same(one, other):
    assert other == one
    assert other.model_dump() == one.model_dump()
    pairs = list(zip(records_in(one), records_in(other), strict=True))
    assert all(type(a) is type(b) and a.model_fields_set == b.model_fields_set for a, b in pairs)
    assert all(list(map(type, vars(a).values())) == list(map(type, vars(b).values())) for a, b in pairs)


@pytest.mark.parametrize("name", ["demo", "mixed", "igniter"])
def test_shipped_problems_and_their_plans_come_out_as_they_went_in(name):
    problem = example_problems()[name]
    assert_same(problem, through_pickle(problem))
    plan = api.solve(problem, profiles=shipped_profiles())
    assert_same(plan, through_pickle(plan))


def test_long_lists_with_different_given_fields_come_out_as_they_went_in():
    problem = random_problem(3 * LONG, 1)
    drawn = random.Random(1)
    mixed = [
        workload.model_copy(update=drawn.choice([{}, {"min_replicas": 2}, {"value": 3.0, "gpus": ("A100-80GB",)}]))
        for workload in problem.workloads
    ]
    problem = problem.model_copy(update={"workloads": tuple(mixed)})
    assert len({frozenset(one.model_fields_set) for one in mixed}) > 1
    assert_same(problem, through_pickle(problem))


def test_a_long_plan_comes_out_as_it_went_in_with_empty_and_short_lists_among_its_own():
    plan = api.solve(random_problem(200, 2), profiles=shipped_profiles())
    assert len(plan.gpus) > LONG
    first = plan.gpus[0].partitions[0]
    kept_free = first.model_copy(update={"serves": ()})
    gpu = plan.gpus[0].model_copy(update={"partitions": (kept_free, *plan.gpus[0].partitions)})
    plan = plan.model_copy(update={"gpus": (gpu, *plan.gpus[1:]), "warnings": ("one", "two") * LONG})
    assert_same(plan, through_pickle(plan))
    all_free = tuple(PlannedGpu(**{**vars(gpu), "partitions": (kept_free,)}) for gpu in plan.gpus)
    assert_same(plan.model_copy(update={"gpus": all_free}), through_pickle(plan.model_copy(update={"gpus": all_free})))


def test_a_list_of_different_classes_travels_as_it_is():
    plan = api.solve(example_problems()["demo"], profiles=shipped_profiles())
    odd = Metrics.model_construct(**{**vars(plan.metrics), "gpus": (plan.gpus[0], *plan.metrics.gpus * LONG)})
    assert through_pickle(odd).gpus == odd.gpus
