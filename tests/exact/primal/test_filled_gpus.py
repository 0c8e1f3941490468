"""GPUs that are filled up without a solver: all of them cut, every partition somebody's that may have it."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sliceplan.solver.exact.dual.supply import Supply
from sliceplan.solver.exact.primal.filled_gpus import filled_up

counts = st.lists(st.integers(0, 3), min_size=2, max_size=2)


@given(
    st.lists(st.tuples(counts.filter(any), st.integers(0, 1)), min_size=2, max_size=4),
    st.lists(st.floats(0, 5), min_size=4, max_size=4),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
    st.lists(st.integers(0, 4), min_size=2, max_size=2),
)
@settings(max_examples=100, deadline=None)
def test_every_gpu_is_cut_and_nobody_loses_a_partition(cuts, value, cut_already, spare):
    instances, gpu_type = np.array([one for one, _ in cuts]), np.array([of_type for _, of_type in cuts])
    times = np.array(cut_already[: len(cuts)])
    available = np.bincount(gpu_type, weights=times, minlength=2) + spare
    value = np.array(value).reshape(2, 2)
    supply = Supply(instances, gpu_type, np.ones(len(cuts)), available)
    there = np.zeros((2, 2), dtype=np.int64)
    there[0] = times @ instances // 2
    partitions, cut = filled_up(supply, value, there, times)
    used = np.bincount(gpu_type, weights=cut, minlength=2)
    assert all(used[g] == available[g] for g in set(gpu_type.tolist()))
    assert (partitions >= there).all()
    assert (cut >= times).all()
    worth = value.max(axis=0)
    assert (partitions.sum(axis=0) == np.where(worth > 0, cut @ instances, there.sum(axis=0))).all()
    assert ((value == worth)[partitions > there]).all()


def test_gpus_that_are_not_cut_get_the_cut_that_is_worth_most_and_partitions_go_to_whom_they_are_worth_most():
    """By hand: sizes are worth 3 and 4; 2 x 3 is less than 3 + 4 on the first type, and more than 4 on the second."""
    instances = np.array([[2, 0], [1, 1], [0, 1], [2, 0]])
    supply = Supply(instances, np.array([0, 0, 1, 1]), np.ones(4), np.array([3.0, 2.0]))
    value = np.array([[3.0, 1.0], [2.0, 4.0]])
    there = np.array([[1, 0], [0, 1]])
    partitions, cut = filled_up(supply, value, there, np.array([1, 0, 1, 0]))
    assert cut.tolist() == [1, 2, 1, 1]
    assert partitions.tolist() == [[6, 0], [0, 3]]
    assert there.tolist() == [[1, 0], [0, 1]]
