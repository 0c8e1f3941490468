"""What is said of cores that cannot be held as a transition's steps have it."""

import pytest

from sliceplan.solver.transition.replay_cores import _is_partition, wrong_cores
from sliceplan.solver.transition.replay_lifetimes import Lifetime


class Tree:
    """A CPU of two nodes, as far as cores go."""

    name = "c"
    core_count, node_cores, domain_cores = 24, 12, 4


@pytest.mark.parametrize(
    ("start", "cores", "right"),
    [
        (0, 1, True),
        (23, 1, True),
        (1, 3, True),
        (1, 4, False),  # across a border of domains
        (4, 4, True),
        (4, 8, True),
        (2, 8, False),
        (0, 10, False),  # a domain in part beside whole ones
        (8, 8, False),  # whole domains of two nodes
        (0, 12, True),
        (12, 12, True),
        (0, 24, True),
        (0, 16, False),
        (20, 8, False),
        (-4, 4, False),
        (0, 0, False),
    ],
)
def test_cores_are_of_one_domain_or_whole_domains_of_a_node_or_whole_nodes(start, cores, right):
    assert _is_partition(Tree, range(start, start + cores)) == right


def held(start, cores, begin=None, end=None, workload="a"):
    return Lifetime((None, start, None), begin, end, (workload,), False, cores)


def test_no_core_is_held_by_two_that_can_run_at_once():
    """Step 1 waits for step 0, step 2 for none."""
    earlier = [0b0, 0b1, 0b0]
    one = held(0, 2, None, 0)
    assert list(wrong_cores("x", Tree, [one, held(1, 2, 1, None, "b")], earlier)) == []
    assert list(wrong_cores("x", Tree, [one, held(2, 2, 2, None, "b")], earlier)) == []
    assert list(wrong_cores("x", Tree, [one, held(1, 2, 2, None, "b")], earlier)) == [
        "x: ('a',) and ('b',) can have the same cores at once"
    ]


def test_what_moves_may_keep_cores_and_has_started_before():
    """Step 0 starts it; step 1, which waits for that, or step 2, which does not, moves it."""
    earlier = [0b0, 0b1, 0b0]
    for started, move, wrong in ((None, 2, []), (0, 1, []), (0, 2, ["x: ('a',) can be moved before it has started"])):
        both = [held(0, 2, started, move), held(1, 2, move, None)]
        assert list(wrong_cores("x", Tree, both, earlier)) == wrong
        assert list(wrong_cores("x", Tree, both[::-1], earlier)) == wrong


@pytest.mark.parametrize(("one", "cores"), [(held(3, 2), 2), (held(0, None), None), (held(24, 1), 1)])
def test_what_runs_has_cores_that_a_partition_may_have(one, cores):
    assert list(wrong_cores("x", Tree, [one], [])) == [
        f"x: ('a',) has {cores} cores from {one.place[1]} on; no partition of c"
    ]
