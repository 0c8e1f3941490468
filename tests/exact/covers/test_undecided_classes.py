"""Classes of undecided workloads have exactly the covers that are near for each of their members."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sliceplan.solver.exact.covers.cover_groups import CoverGroups, cover_groups
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


def groups_of(group, sets):
    """Returns groups of workloads with these covers."""
    number = np.array([len(own) for own in sets])
    counts = np.array([cover for own in sets for cover in own])
    return CoverGroups(np.array(group), counts, np.cumsum(number) - number, number)


NEAR = [(4, 0, 0, 0), (0, 2, 0, 0), (1, 0, 1, 0)]


@pytest.mark.parametrize(
    ("alone", "members"),
    [
        ([], [[0, 1, 2, 4]]),
        ([1], [[1], [0, 2, 4]]),
        ([4, 0], [[4], [0], [1, 2]]),
        ([3], [[3], [0, 1, 2, 4]]),  # it has one cover only
        ([0, 1, 2, 4], [[0], [1], [2], [4]]),  # nobody else is undecided
    ],
)
def test_who_is_a_class_alone_is_in_no_other_and_no_class_is_empty(alone, members):
    alike = groups_of([0, 0, 0, 1, 0], [NEAR, [(0, 0, 0, 1)]])
    found = undecided_classes(alike, PRICE, np.array(alone, dtype=np.int64))
    assert [own.tolist() for own, _ in listed(found.classes)] == members
    assert found.classes.members.tolist() == [len(own) for own in members]
    assert found.always == len(alone)
    of = [1 if own == [3] else len(NEAR) for own in members]
    assert found.classes.covers.tolist() == of
    assert len(found.classes.counts) == sum(of)


def test_a_known_cover_is_kept_wherever_it_stands_among_those_that_are_near():
    alike = groups_of([0, 1, 0, 0], [NEAR, [(0, 0, 0, 1)]])
    known = np.array([NEAR[0], (0, 0, 0, 1), NEAR[2], (9, 0, 0, 0)])
    found = undecided_classes(alike, np.array([1.1, 2.0, 3.0, 4.0]), np.zeros(0, dtype=np.int64), known)
    assert found.decided.tolist() == [[0, 2, 0, 0], [0, 0, 0, 1], [0, 2, 0, 0], [0, 2, 0, 0]]
    assert found.kept.tolist() == [*map(list, NEAR[:1]), [0, 0, 0, 1], list(NEAR[2]), [0, 2, 0, 0]]


def test_classes_of_least_regret_come_first_and_of_equals_the_largest():
    """Of three sets of covers the first has a second that is a tenth dearer, the others two of the same cost."""
    sets = [[(0, 1, 0, 0), (0, 0, 0, 1)], [(2, 0, 0, 0), (0, 1, 0, 0)], [(1, 1, 0, 0), (0, 0, 1, 0)]]
    price = np.array([1.0, 2.0, 3.0, 2.2])
    found = undecided_classes(groups_of([0, 0, 0, 1, 2, 2], sets), price, np.zeros(0, dtype=np.int64))
    assert [own.tolist() for own, _ in listed(found.classes)] == [[4, 5], [3], [0, 1, 2]]
    turned = found.classes.in_order(np.array([2, 0, 1]))
    assert [own.tolist() for own, _ in listed(turned)] == [[0, 1, 2], [4, 5], [3]]
    assert [counts.tolist() for _, counts in listed(turned)] == [
        [list(cover) for cover in sets[number]] for number in (0, 2, 1)
    ]
    # Of covers that are as cheap the one of most partitions is decided on.
    assert found.decided.tolist() == [[0, 1, 0, 0]] * 3 + [[2, 0, 0, 0]] + [[1, 1, 0, 0]] * 2
