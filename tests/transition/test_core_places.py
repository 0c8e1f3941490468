"""Where partitions of a CPU stay, move and come, by hand-made cases; and what the replay says of cores."""

import pytest
from problems.small_plans import cores_of

from sliceplan.solver.model.catalogue import load_cpus
from sliceplan.solver.transition.core_places import core_places
from sliceplan.solver.transition.replay_capacity import ancestors
from sliceplan.solver.transition.replay_cores import wrong_cores
from sliceplan.solver.transition.replay_lifetimes import Lifetime
from sliceplan.solver.transition.tenancies import tenancy

CPU = "Threadripper-3990X"
"""16 L3 domains of 4 cores, one NUMA node."""


def of(*places):
    return [tenancy(cores_of(*place), "cores") for place in places]


def became(runs, wants, *, fixed_starts=False):
    """Returns what stays, what comes as service, start and cores, and what moves."""
    stay, coming, moves = core_places(CPU, of(*runs), of(*wants), fixed_starts=fixed_starts)
    return stay, [(one.workloads[0], one.start, one.cores) for one in coming], moves


def test_where_nothing_has_to_move_the_rest_comes_where_the_plan_says():
    runs, wants = [(0, 2, "a", 10), (4, 1, "b", 10)], [(0, 2, "a", 10), (8, 1, "c", 10)]
    assert became(runs, wants) == ([0], [("c", 8, 1)], {})
    assert became(runs, wants, fixed_starts=True) == ([0], [("c", 8, 1)], {})


def test_what_stays_is_built_around_with_the_largest_first_where_fewest_cores_are_free():
    runs = [(8, 2, "a", 10), (12, 3, "b", 10)]
    wants = [(0, 2, "a", 10), (4, 3, "b", 10), (8, 1, "c", 10), (12, 2, "d", 10), (16, 8, "e", 10)]
    coming = [("e", 0, 8), ("d", 10, 2), ("c", 15, 1)]
    assert became(runs, wants) == ([0, 1], coming, {})
    assert became(runs, wants, fixed_starts=True) == (
        [],
        [("a", 0, 2), ("b", 4, 3), ("c", 8, 1), ("d", 12, 2), ("e", 16, 8)],
        {0: 0, 1: 1},
    )


def test_of_equal_ones_those_stay_that_stand_where_the_plan_says():
    runs, wants = [(0, 2, "a", 10), (2, 2, "a", 10)], [(2, 2, "a", 10), (4, 2, "a", 10)]
    assert became(runs, wants, fixed_starts=True) == ([1], [("a", 4, 2)], {0: 0})
    assert became(runs, wants) == ([0, 1], [], {})
    assert became(runs, wants[:1], fixed_starts=True) == ([1], [], {})


def test_where_the_rest_finds_no_cores_everything_goes_where_the_plan_says():
    runs = [(4 * domain, 1, "a", 10) for domain in range(16)]
    wants = [(0, 4, "b", 10), *((4 + i, 1, "a", 10) for i in range(16))]
    stay, coming, moves = became(runs, wants)
    assert stay == [1, 2, 3, 4]
    assert coming[0] == ("b", 0, 4)
    assert sorted(moves) == [0, *range(5, 16)]
    assert {start for _, start, _ in coming[1:]} == {5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19}


def test_what_moves_goes_on_with_the_figures_of_today():
    runs, wants = of((0, 2, "a", 5, 10)), of((4, 2, "a", 5, 12))
    _, coming, moves = core_places(CPU, runs, wants, fixed_starts=True)
    assert (moves, [one.capacity for one in coming]) == ({0: 0}, [(("a", 10),)])


def life(start, cores, begin, end, name="a"):
    return Lifetime((None, start, None), begin, end, (name,), False, cores)


@pytest.mark.parametrize(
    ("start", "cores", "legal"),
    [
        (0, 1, True),
        (3, 1, True),
        (1, 3, True),
        (2, 3, False),
        (4, 8, True),
        (4, 6, False),
        (2, 8, False),
        (0, 64, True),
        (60, 4, True),
        (60, 8, False),
        (-4, 4, False),
        (0, None, False),
    ],
)
def test_a_partition_lies_within_an_l3_domain_or_is_several_whole_ones(start, cores, legal):
    said = list(wrong_cores("cpu", load_cpus()[CPU], [life(start, cores, None, None)], []))
    assert said == ([] if legal else [f"cpu: ('a',) has {cores} cores from {start} on; no partition of {CPU}"])


def test_cores_are_had_by_both_while_one_moves_and_by_one_alone_otherwise():
    """Steps: 0 moves a from core 0 to 4, 1 starts b on core 0 and waits for that or does not."""

    class Step:
        def __init__(self, *after):
            self.after = after

    def said(*steps, begin=None):
        lives = [
            life(0, 2, begin, len(steps) - 2),
            life(1, 2, len(steps) - 2, None),
            life(0, 1, len(steps) - 1, None, "b"),
        ]
        return list(wrong_cores("cpu", load_cpus()[CPU], lives, ancestors(steps)))

    assert said(Step(), Step(0)) == []
    assert said(Step(), Step()) == ["cpu: ('a',) and ('b',) can have the same cores at once"]
    assert said(Step(), Step(0), Step(1), begin=0) == []
    assert said(Step(), Step(), Step(1), begin=0) == ["cpu: ('a',) can be moved before it has started"]
