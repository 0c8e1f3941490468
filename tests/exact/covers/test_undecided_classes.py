"""Classes of undecided workloads have exactly the covers that are near for each of their members."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sliceplan.solver.exact.covers.cover_groups import cover_groups
from sliceplan.solver.exact.covers.covers import cheapest_covers
from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.covers.undecided_classes import MOST_COVERS, TIED, undecided_classes

PRICE = np.array([1.0, 2.0, 3.0, 4.0])


def covers_of(parts, slack):
    part = np.array(parts, dtype=float)
    workloads = len(part)
    least, most = np.ones(workloads, dtype=np.int64), np.full(workloads, NO_LIMIT)
    return cheapest_covers(Demands(part, least, most), PRICE, slack)


def listed(classes):
    """Yields the members of each class and its covers."""
    members, covers = np.split(classes.member, np.cumsum(classes.members)), np.cumsum(classes.covers)
    yield from zip(members[:-1], np.split(classes.counts, covers)[:-1], strict=True)


PARTS = st.tuples(*[st.sampled_from([0.1 * k, 0.125 * k, 0.15]) for k in (1, 2, 3, 4)])


@settings(max_examples=60, deadline=None)
@given(st.lists(PARTS, min_size=1, max_size=30), st.sampled_from([0.0, 0.05, 0.3]), st.data())
def test_members_of_a_class_have_its_covers(parts, slack, data):
    covers = covers_of(parts, slack)
    alone = np.array(sorted(data.draw(st.sets(st.integers(0, len(parts) - 1), max_size=3))), dtype=np.int64)
    near = undecided_classes(cover_groups(covers), PRICE, alone)
    own = {w: covers.counts[covers.workload == w] for w in range(len(parts))}
    classes = list(listed(near.classes))
    assert [members.tolist() for members, _ in classes[: near.always]] == [[w] for w in alone]
    undecided = [w for w, counts in own.items() if len(counts) > 1 and w not in alone]
    assert sorted(int(w) for members, _ in classes[near.always :] for w in members) == undecided
    for members, counts in classes:
        cost = counts @ PRICE
        assert np.all(np.diff(cost) >= -1e-12)
        for w in members.tolist():
            if len(own[w]) <= MOST_COVERS:
                assert sorted(map(tuple, own[w])) == sorted(map(tuple, counts))
            else:  # the nearest alone
                assert cost.max() <= np.sort(own[w] @ PRICE)[MOST_COVERS - 1] + 1e-9
    for w, counts in own.items():
        assert near.decided[w] @ PRICE <= (counts @ PRICE).min() * (1 + TIED)


@settings(max_examples=60, deadline=None)
@given(st.lists(PARTS, min_size=1, max_size=20), st.data())
def test_known_covers_are_kept_where_they_are_near(parts, data):
    covers = covers_of(parts, 0.3)
    drawn = [data.draw(st.sampled_from(np.flatnonzero(covers.workload == w).tolist())) for w in range(len(parts))]
    known, far = covers.counts[drawn], data.draw(st.integers(0, len(parts) - 1))
    known[far] += 1000
    near = undecided_classes(cover_groups(covers), PRICE, np.zeros(0, dtype=np.int64), known)
    assert near.kept[far].tolist() == near.decided[far].tolist()
    others = np.arange(len(parts)) != far
    assert near.kept[others].tolist() == known[others].tolist()


@settings(max_examples=30, deadline=None)
@given(st.lists(PARTS, min_size=1, max_size=30), st.integers(0, 40))
def test_the_first_classes_are_the_nearest(parts, number):
    near = undecided_classes(cover_groups(covers_of(parts, 0.3)), PRICE, np.zeros(0, dtype=np.int64))
    some, every = list(listed(near.classes.first(number))), list(listed(near.classes))
    assert len(some) == min(number, len(every))
    for (members, counts), (same_members, same_counts) in zip(some, every, strict=False):
        assert members.tolist() == same_members.tolist()
        assert counts.tolist() == same_counts.tolist()

    def distance(counts):
        cost = np.sort(counts @ PRICE)
        second = cost[1] - cost[0]
        return 0.0 if second <= TIED * cost[0] else second

    distances = [distance(counts) for _, counts in every]
    assert all(one <= other + 1e-9 for one, other in pairwise(distances))
