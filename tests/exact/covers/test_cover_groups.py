"""Workloads with the same covers are one group, and none with others are, whatever their hashes say."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sliceplan.solver.exact.covers import cover_groups as module
from sliceplan.solver.exact.covers.cover_groups import cover_groups
from sliceplan.solver.exact.covers.covers import Covers, cheapest_covers
from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands

PRICE = np.array([1.0, 2.0, 3.0, 4.0])


def covers_of(parts, slack):
    demands = Demands(np.array(parts), np.ones(len(parts), dtype=np.int64), np.full(len(parts), NO_LIMIT))
    return cheapest_covers(demands, PRICE, slack)


def assert_alike(alike, covers):
    """Asserts that each workload's group has its covers, and that no two groups have the same."""
    own = [{tuple(one) for one in covers.counts[covers.workload == w]} for w in range(len(covers.floor))]
    listed = np.split(alike.counts, np.cumsum(alike.number)[:-1])
    for w, group in enumerate(alike.group.tolist()):
        assert {tuple(one) for one in listed[group]} == own[w]
    assert len(listed) == len({frozenset(one) for one in own})


PARTS = st.tuples(*[st.sampled_from([0.1 * k, 0.125 * k, 0.15, 0.0]) for k in (1, 2, 3, 4)]).filter(any)


@settings(max_examples=60, deadline=None)
@given(st.lists(PARTS, min_size=1, max_size=30), st.sampled_from([0.0, 0.05, 0.3]), st.integers(1, 4))
def test_workloads_are_alike_if_and_only_if_they_have_the_same_covers(parts, slack, most):
    covers = covers_of(parts, slack)
    own = [{tuple(one) for one in covers.counts[covers.workload == w]} for w in range(len(parts))]
    alike = cover_groups(covers)
    assert_alike(alike, covers)
    nearest = alike.nearest(alike.counts @ PRICE, most)
    listed = np.split(nearest.counts, np.cumsum(nearest.number)[:-1])
    for w, group in enumerate(nearest.group.tolist()):
        kept = [tuple(one) for one in listed[group]]
        assert len(kept) == min(most, len(own[w]))
        assert set(kept) <= own[w]
        assert sorted(np.array(kept) @ PRICE) == pytest.approx(sorted(np.array(list(own[w])) @ PRICE)[:most])


SETS = st.lists(
    st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=5, unique=True), min_size=1, max_size=40
)


@settings(max_examples=100, deadline=None)
@example([[(2, 0, 0)], [(0, 1, 0)]], 1, 62)
@given(SETS, st.sampled_from([1, 3]), st.sampled_from([62, 5, 2]))
def test_sets_whose_hashes_collide_are_told_apart(sets, different_hashes, bits):
    """With one hash for all, and a few; covers in any order, and with more numbers a cover than one."""
    counts = np.array([cover for own in sets for cover in own], dtype=np.int64)
    covers = Covers(np.repeat(np.arange(len(sets)), [len(own) for own in sets]), counts, np.zeros(len(sets)))

    def colliding(counts, first):
        return np.add.reduceat(counts.sum(axis=1), first) % different_hashes

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_hashes", colliding)
        patch.setattr(module, "MOST_BITS", bits)
        alike = cover_groups(covers)
    assert_alike(alike, covers)
