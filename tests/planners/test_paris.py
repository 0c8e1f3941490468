"""PARIS: knees, shares of instance sizes, and the smallest server."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems.instances import problem_of, random_problem

from sliceplan.solver.api import solve
from sliceplan.solver.planners.paris import (
    MOST_BATCH,
    BatchLatency,
    batch_probabilities,
    instances_of,
    segments_by_knee,
    server_for,
)

NEEDS = st.dictionaries(st.sampled_from([1, 2, 3, 4, 7]), st.floats(0.01, 10), min_size=1)


def test_knee_is_the_smallest_batch_that_keeps_the_instance_busy():
    """Throughputs 100, 160, 200 and 210 items/s: the third is the first with 80 % of the greatest."""
    latency = BatchLatency(np.array([1, 2, 4, 8]), np.array([10.0, 12.5, 20.0, 8000 / 210]))
    assert latency.knee(limit_ms=100) == 4
    assert latency.knee(limit_ms=15) == 2
    assert latency.knee(limit_ms=5) == 0


def test_latency_is_interpolated_between_batches_and_grows_with_them_beyond():
    latency = BatchLatency(np.array([1, 2, 4]), np.array([10.0, 12.0, 20.0]))
    assert latency.queries_per_s(np.array([1, 3, 8])) == pytest.approx([100, 1000 / 16, 1000 / 40])


def test_batch_probabilities_add_up_to_one():
    assert batch_probabilities().shape == (MOST_BATCH,)
    assert batch_probabilities().sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("knees", "segments"),
    [
        ({7: 20, 1: 4, 3: 9}, {1: (1, 4), 3: (5, 9), 7: (10, 32)}),
        ({4: 8, 2: 8, 1: 2}, {1: (1, 2), 2: (3, 8), 4: (9, 32)}),
        ({3: 5, 2: 7, 7: 6}, {2: (1, 7), 7: (8, 32)}),
        ({1: 0, 2: 64, 3: 70}, {2: (1, 32)}),
        ({4: 0}, {4: (1, 32)}),
    ],
)
def test_each_size_serves_the_batches_up_to_its_knee_and_the_largest_the_rest(knees, segments):
    found = segments_by_knee(knees)
    assert {k: (int(b[0]), int(b[-1])) for k, b in found.items()} == segments
    assert sorted(int(b) for own in found.values() for b in own) == list(range(1, MOST_BATCH + 1))


def test_slices_are_shared_out_by_need_and_the_rest_by_largest_remainder():
    """Of 14 slices the quotas are 3.11, 1.56 and 1.56; of the 4 slices left size 3 takes its one first, then size 1."""
    assert instances_of({1: 2.0, 3: 1.0, 4: 1.0}, 9) == {1: 2, 3: 1, 4: 1}
    assert instances_of({1: 2.0, 3: 1.0, 4: 1.0}, 14) == {1: 4, 3: 2, 4: 1}
    assert instances_of({7: 1.0}, 13) == {7: 1}


@given(NEEDS, st.integers(1, 200))
def test_a_server_has_no_more_slices_than_it_was_given(need, slices):
    instances = instances_of(need, slices)
    assert slices - min(need) < sum(k * number for k, number in instances.items()) + max(need)
    assert sum(k * number for k, number in instances.items()) <= slices


@given(NEEDS, st.floats(1, 3000))
def test_no_smaller_server_carries_the_rate(need, rate_rps):
    capacity_rps = {k: 30.0 * k**0.8 for k in need}
    server = server_for(need, capacity_rps, rate_rps)

    def carried(instances):
        return sum(number * capacity_rps[k] for k, number in instances.items())

    smaller = next(
        slices for slices in range(1, 10_000) if carried(instances_of(need, slices)) >= rate_rps * (1 - 1e-9)
    )
    assert server == instances_of(need, smaller)


@pytest.mark.parametrize("seed", range(3))
def test_plan_costs_no_less_than_the_proven_optimum(seed):
    problem = random_problem(12, seed)
    assert solve(problem, "paris").gpus_used >= solve(problem).gpus_used


def test_instances_of_several_workloads_share_a_gpu():
    problem = problem_of([{"model": model, "rate_rps": 1, "slo_ms": 500} for model in ("bert", "vgg16", "resnet50")])
    plan = solve(problem, "paris")
    assert plan.gpus_used == 1
