"""What has to be covered: whether partitions alone can, and great rates taken in parts."""

import numpy as np
import pytest

from sliceplan.solver.exact.covers.demands import FEW_PARTITIONS, NO_LIMIT, Demands, in_parts


def demands_of(part, most=None):
    workloads = len(part)
    return Demands(
        np.array(part, dtype=float), np.ones(workloads, dtype=np.int64), np.array(most or [NO_LIMIT] * workloads)
    )


@pytest.mark.parametrize(
    ("part", "most", "can_be"),
    [
        ([0.5, 0.2], 2, True),
        ([0.5, 0.2], 1, False),
        ([0.2, 0.5], 2, True),
        ([0.49, 0.2], 2, False),
        ([1 / 3, 0.0], 3, True),  # but for rounding
        ([1.0, 0.0], 1, True),
        ([0.0, 0.0], NO_LIMIT, False),
        ([1e-6, 0.0], NO_LIMIT, True),
    ],
)
def test_partitions_alone_serve_who_may_have_enough_of_the_largest(part, most, can_be):
    assert demands_of([part, [1.0, 1.0]], [most, 1]).can_be_covered().tolist() == [can_be, True]


def test_without_sizes_partitions_serve_nobody():
    assert demands_of(np.zeros((2, 0))).can_be_covered().tolist() == [False, False]


@pytest.mark.parametrize("largest", [1.0, 0.5, 1 / 3, 0.3, 1 / 6, 0.16, 0.05, 1e-4])
def test_each_part_of_a_great_rate_needs_few_partitions_and_no_more_parts_than_that_takes(largest):
    demands = demands_of([[largest / 2, largest, 0.0], [0.5, 1.0, 0.9]])
    parts, times = in_parts(demands)
    number = int(times[0])
    assert number >= 1
    assert number * FEW_PARTITIONS * largest >= 1 - 1e-9
    assert number == 1 or (number - 1) * FEW_PARTITIONS * largest < 1
    assert parts.part[0] == pytest.approx([min(largest / 2 * number, 1), min(largest * number, 1), 0.0])
    assert parts.part[0].max() * FEW_PARTITIONS >= 1 - 1e-9
    assert (times[1], parts.part[1].tolist()) == (1, [0.5, 1.0, 0.9])
    assert parts.kind is None


def test_some_of_the_workloads_keep_all_that_is_known_of_them():
    demands = Demands(
        np.array([[0.1], [0.2], [0.3]]), np.array([1, 2, 3]), np.array([4, 5, 6]), kind=np.array([7, 8, 9])
    )
    some = demands.of(np.array([2, 0]))
    assert (some.part.tolist(), some.least.tolist(), some.most.tolist()) == ([[0.3], [0.1]], [3, 1], [6, 4])
    assert some.kind.tolist() == [9, 7]
    assert some.shared is None
