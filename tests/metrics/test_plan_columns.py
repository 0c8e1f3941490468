"""A plan read as columns says what its records say."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from problems.instances import random_problem

from sliceplan.solver.api import solve
from sliceplan.solver.metrics.plan_columns import plan_columns
from sliceplan.solver.model.plan import Plan

PROBLEM = random_problem(6, seed=2)
PLAN = json.loads(solve(PROBLEM).model_dump_json())
PARTITION = PLAN["gpus"][0]["partitions"][0]

PARTITIONS = st.fixed_dictionaries(
    {
        "mig_profile": st.sampled_from([None, "1g.10gb", "2g.20gb"]),
        "start": st.sampled_from([None, 0, 2]),
        "sm_percent": st.sampled_from([None, 50.0]),
    }
)
GPUS = st.fixed_dictionaries(
    {
        "gpu": st.sampled_from(["A100-80GB", "T4"]),
        "sharing": st.sampled_from(["mig", "mps"]),
        "partitions": st.lists(PARTITIONS, min_size=1, max_size=3),
    }
)


@settings(deadline=None)
@given(st.lists(GPUS, max_size=12))
def test_gpus_share_a_division_if_and_only_if_they_are_divided_alike(gpus):
    """Property: equal type, sharing, and partitions in their order; each division has its first GPU as example."""
    filled = [
        {**PLAN["gpus"][0], **gpu, "id": str(g), "partitions": [{**PARTITION, **one} for one in gpu["partitions"]]}
        for g, gpu in enumerate(gpus)
    ]
    columns = plan_columns(PROBLEM, Plan.model_validate({**PLAN, "gpus": filled}))
    number = {}
    for g, gpu in enumerate(gpus):
        number.setdefault(columns.division[g], []).append(gpu)
        assert columns.gpu[columns.first[g]] == g
    assert all(gpu == alike[0] for alike in number.values() for gpu in alike)
    different = {json.dumps(gpu, sort_keys=True) for gpu in gpus}
    assert len(number) == len(different) == len(columns.example)
    for division, example in enumerate(columns.example):
        assert columns.division[example] == division
        assert example == columns.division.tolist().index(division)


def test_a_plan_without_gpus_has_no_columns():
    columns = plan_columns(PROBLEM, Plan.model_validate({**PLAN, "gpus": []}))
    assert len(columns.partitions) == len(columns.division) == len(columns.example) == 0
