"""Where partitions are promised a sum, and where what they are promised beside others."""

import numpy as np
import pytest
from problems.instances import problem_of
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.check.together import promised_beside_others, promised_in_turns
from sliceplan.solver.metrics.plan_columns import plan_columns

PLAN = plan_of(
    gpu_of(
        "A100-80GB/0",
        partition_of("3g.40gb@0", "w0", 60, capacity=100),
        partition_of("2g.20gb@4", "w0", 40, capacity=100),
        partition_of("1g.10gb@6", "nobody", 10, capacity=100),
    )
)
WORKLOAD = {"model": "bert", "rate_rps": 100, "slo_ms": 100}


@pytest.mark.parametrize(
    ("settings", "together"),
    [
        ({"latency": "percentile", "dispatch": "least_expected"}, True),
        ({"latency": "percentile", "dispatch": "central"}, True),
        ({"latency": "percentile"}, False),
        ({}, False),
    ],
)
def test_only_routers_that_deal_by_state_promise_anything_but_a_sum(settings, together):
    problem = problem_of([WORKLOAD], **settings)
    columns = plan_columns(problem, PLAN, None)
    beside, in_turns = promised_beside_others(problem, columns), promised_in_turns(problem, columns)
    if not together:
        assert beside is None
        assert in_turns is None
        return
    # Equal partitions: each is promised something in turns, and the router does not less. Nobody asks for the third.
    assert in_turns[0] == in_turns[1] > 0
    assert in_turns[2] == beside[2] == 0
    assert np.all(beside[:2] >= in_turns[:2] * (1 - 1e-3))
    assert np.all(beside <= 100)


def test_a_service_has_its_own_quantile_slo_and_headroom():
    strict = {**WORKLOAD, "slo_quantile": 0.9999}
    of_state = {"latency": "percentile", "dispatch": "least_expected"}
    plain, stricter = (problem_of([one], **of_state) for one in (WORKLOAD, strict))
    sums = [promised_beside_others(one, plan_columns(one, PLAN, None)).sum() for one in (plain, stricter)]
    assert 0 < sums[1] < sums[0]
