"""Partitions are dealt to the cut GPUs: each once, in places of its size, and alike GPUs together."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems.instances import random_problem, second_type, two_type_problem

from sliceplan.solver.allocation.allocated import SPARE
from sliceplan.solver.exact.mig.decoding import alike_gpus, cut_gpus
from sliceplan.solver.exact.mig.patterns import patterns_of
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

RESOLVED = resolve(two_type_problem(5, seed=1), [*shipped_profiles(), *second_type()])
PATTERNS = [pattern for entry in RESOLVED.fleet for pattern in patterns_of(RESOLVED, entry)]
INDEX = {(size.gpu, size.name): k for k, size in enumerate(RESOLVED.sizes)}


def slots(patterns):
    """Returns how many places of each size there are, shape (size,)."""
    number = np.zeros(len(RESOLVED.sizes), dtype=np.int64)
    for pattern, times in patterns:
        for profile in pattern.profiles:
            number[INDEX[pattern.gpu, profile]] += times
    return number


@st.composite
def answers(draw):
    """Draws cuts, partitions for five workloads that fit them, and partitions that are kept free."""
    chosen = draw(st.lists(st.tuples(st.sampled_from(PATTERNS), st.integers(1, 4)), min_size=1, max_size=5))
    left = slots(chosen)
    partitions = np.zeros((5, len(left)), dtype=np.int64)
    for k, number in enumerate(left.tolist()):
        for _ in range(draw(st.integers(0, number))):
            partitions[draw(st.integers(0, 4)), k] += 1
    left -= partitions.sum(axis=0)
    spares = np.array([draw(st.integers(0, number)) for number in left.tolist()])
    return chosen, partitions, spares


@settings(deadline=None)
@given(answers())
def test_every_partition_is_dealt_once_to_a_gpu_that_is_cut_for_it(answer):
    patterns, partitions, spares = answer
    dealt = alike_gpus(RESOLVED, patterns, partitions, spares)
    found = np.zeros_like(partitions)
    free = np.zeros_like(spares)
    for alike in dealt:
        assert alike.is_used
        assert list(alike.sizes) == sorted(alike.sizes)
        assert {RESOLVED.sizes[k].gpu for k in alike.sizes} == {alike.gpu}
        for gpu in alike.one_by_one():
            for size, workload in gpu.segments:
                if workload == SPARE:
                    free[size] += 1
                else:
                    found[workload, size] += 1
    assert found.tolist() == partitions.tolist()
    assert free.tolist() == spares.tolist()
    # Each GPU holds a part of a cut, and no cut is used more often than there are GPUs cut so.
    cuts = [Counter(INDEX[pattern.gpu, profile] for profile in pattern.profiles) for pattern, _ in patterns]
    for alike in dealt:
        assert any(not Counter(alike.sizes) - cut for cut in cuts)
    assert sum(len(alike.workload) for alike in dealt) <= sum(times for _, times in patterns)


def test_one_by_one_they_are_the_same_gpus():
    patterns = [(PATTERNS[0], 3), (PATTERNS[1], 2)]
    partitions = np.zeros((5, len(RESOLVED.sizes)), dtype=np.int64)
    partitions[0] = slots(patterns)
    alike = alike_gpus(RESOLVED, patterns, partitions)
    assert [gpu for one in alike for gpu in one.one_by_one()] == cut_gpus(RESOLVED, patterns, partitions)
    assert [len(one.workload) for one in alike] == [3, 2]


def test_partitions_without_a_gpu_are_a_mistake_of_the_solver():
    resolved = resolve(random_problem(1, seed=1), shipped_profiles())
    partitions = np.ones((1, len(resolved.sizes)), dtype=np.int64)
    with pytest.raises(RuntimeError, match=f"{len(resolved.sizes)} partitions have no GPU"):
        alike_gpus(resolved, [], partitions)
