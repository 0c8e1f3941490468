"""Coarse first, and the nearest known point."""

from itertools import pairwise, product

from hypothesis import given
from hypothesis import strategies as st

from sliceplan.solver.what_if.order import Nearest, coarse_first


def test_the_ends_come_first_and_then_the_middles():
    assert [i for (i,) in coarse_first([9])] == [0, 8, 4, 2, 6, 1, 3, 5, 7]


def test_a_grid_begins_with_its_corners():
    assert set(coarse_first([5, 3])[:4]) == {(0, 0), (0, 2), (4, 0), (4, 2)}


@given(st.lists(st.integers(1, 12), min_size=1, max_size=2))
def test_every_point_comes_once(sizes):
    """Property: the order is a permutation of the grid."""
    order = coarse_first(sizes)
    assert len(order) == len(set(order))
    assert set(order) == set(product(*map(range, sizes)))


def test_after_a_few_points_no_gap_is_much_wider_than_another():
    first = sorted(i for (i,) in coarse_first([1000])[:33])
    gaps = [after - before for before, after in pairwise(first)]
    assert max(gaps) <= 2 * min(gaps)


def test_nothing_is_near_when_nothing_is_known():
    assert Nearest([3]).to((1,)) is None


@given(st.data())
def test_the_nearest_point_is_none_farther_than_any_other(data):
    """Property: no known point is nearer, an axis of many values counting as one of few."""
    sizes = data.draw(st.lists(st.integers(2, 9), min_size=2, max_size=2))
    indices = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    known = data.draw(st.lists(indices, min_size=1, max_size=40, unique=True))
    wanted = data.draw(indices)
    nearest = Nearest(sizes)
    for index in known:
        nearest.add(index)

    def away(index):
        return sum(((a - b) / (size - 1)) ** 2 for a, b, size in zip(index, wanted, sizes, strict=True))

    assert away(nearest.to(wanted)) <= min(map(away, known)) + 1e-12
