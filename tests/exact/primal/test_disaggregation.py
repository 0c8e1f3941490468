"""Members of a class take the covers that a program chose, each at most one, and keep their own where they can."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sliceplan.solver.exact.covers.undecided_classes import Classes
from sliceplan.solver.exact.primal.disaggregation import deal


@st.composite
def dealt(draw):
    """Draws classes of workloads in any order, how many take which cover, and what each keeps."""
    sizes = draw(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 4)), min_size=1, max_size=5))
    members, covers = (np.array(column) for column in zip(*sizes, strict=True))
    member = np.array(draw(st.permutations(range(int(members.sum())))))
    counts = np.arange(1, int(covers.sum()) + 1)[:, None]  # each cover is told by its number
    times, kept = [], np.zeros((len(member), 1), dtype=np.int64)
    first = 0
    for own, of_class in zip(np.split(member, np.cumsum(members)[:-1]), sizes, strict=True):
        taken = [draw(st.integers(0, of_class[1])) for _ in own]  # 0: none
        times += [taken.count(j + 1) for j in range(of_class[1])]
        for w in own:
            kept[w] = draw(st.sampled_from([0, *range(first + 1, first + of_class[1] + 1), 999]))
        first += of_class[1]
    return Classes(member, members, counts, covers), np.array(times), kept


@given(dealt())
def test_covers_are_dealt_as_often_as_chosen_and_kept_as_often_as_possible(case):
    classes, times, kept = case
    partitions = np.zeros_like(kept)
    deal(classes, times, kept, partitions)
    by_class = np.split(classes.member, np.cumsum(classes.members)[:-1])
    own_times = np.split(times, np.cumsum(classes.covers)[:-1])
    first = np.cumsum(classes.covers) - classes.covers
    for own, number, at in zip(by_class, own_times, first.tolist(), strict=True):
        taken = Counter(partitions[own, 0].tolist())
        wanted = {at + 1 + j: times for j, times in enumerate(number.tolist()) if times}
        assert {cover: times for cover, times in taken.items() if cover} == wanted
        for cover, often in wanted.items():
            could = int((kept[own, 0] == cover).sum())
            keeps = int(((kept[own, 0] == cover) & (partitions[own, 0] == cover)).sum())
            assert keeps == min(could, often)
