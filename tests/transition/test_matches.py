"""Where what comes to a GPU stands beside what stays there."""

from collections import Counter
from dataclasses import replace

from problems.plan_pairs import pairs
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.transition.matches import Match, matches, placed
from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.transition.replay import replay
from sliceplan.solver.transition.room import layout, placement
from sliceplan.solver.transition.tenancies import IdleGpus, Tenancy, real_gpus, wanted_gpus

A100 = "A100-80GB"


def instance(profile, start, workload):
    return Tenancy("mig", profile, start, None, ((workload, 1, 1),), ((workload, 10.0),))


def test_what_comes_stands_where_it_asks_if_that_is_free_and_else_on_what_is_left():
    runs = (instance("3g.40gb", 0, "a"),)
    wants = (instance("1g.10gb", 6, "b"), instance("1g.10gb", 5, "c"), instance("1g.10gb", 0, "d"), *runs)
    at = layout((instance("3g.40gb", 0, "a"), *(instance("1g.10gb", start, "x") for start in (4, 5, 6))))
    stay, coming = placed(runs, wants, Match(((runs[0].kind, 1),), at))
    assert stay == [0]
    assert {one.workloads[0]: one.start for one in coming} == {"b": 6, "c": 5, "d": 4}


def test_without_a_match_nothing_stays_and_starts_are_as_planned():
    one = instance("3g.40gb", 0, "a")
    assert placed((one,), (one,), None) == ([], [one])


def test_with_what_stays_the_places_of_a_match_are_taken_once_each():
    """Property: stays and comes are what is wanted, on the match's layout; with fixed starts, where the plan says."""
    tried = Counter()
    for name, old, new in pairs(range(700, 706), most_services=4, plans=4):
        for real in real_gpus(old, new, IdleGpus()):
            for wanted in wanted_gpus(new):
                if real.gpu != wanted.gpu or wanted.sharing != "mig":
                    continue
                for fixed in (False, True):
                    for match in matches(real.gpu, real.runs, wanted.wants, fixed_starts=fixed):
                        stay, coming = placed(real.runs, wanted.wants, match)
                        there = [*(real.runs[i] for i in stay), *coming]
                        assert Counter(one.kind for one in there) == Counter(one.kind for one in wanted.wants), name
                        assert len(stay) == match.count
                        assert tuple(sorted(map(placement, there))) == match.layout
                        if fixed:
                            asked = Counter((one.start, one.kind) for one in wanted.wants)
                            assert Counter((one.start, one.kind) for one in there) == asked
                        tried[fixed] += 1
    assert min(tried.values()) > 30


def test_of_equal_instances_the_one_stays_that_stands_where_the_plan_says():
    """The first of them stayed before, and another service came to the start that the plan gives to this one."""
    old = plan_of(gpu_of(f"{A100}/0", *(partition_of(f"1g.10gb@{start}", "a", 10) for start in (0, 1))))
    parts = (partition_of("1g.10gb@0", "b", 10), partition_of("1g.10gb@1", "a", 10))
    new = plan_of(gpu_of(f"{A100}/0", *parts))
    found = plan_transition(old, new, fixed_starts=True)
    assert replay(old, found.assigned, found.transition) == []
    placed_there = {(one.start, one.serves[0].workload) for one in found.assigned.gpus[0].partitions}
    assert placed_there == {(0, "b"), (1, "a")}
    assert found.transition.kept == 1


def test_a_way_that_keeps_less_of_each_than_another_is_none():
    """Beside the large instance there is room for three at one end, or for none of them and the one at the other."""
    runs = [instance("1g.10gb", start, name) for start, name in ((0, "a"), (1, "b"), (6, "c"))]
    wants = [instance("3g.40gb", 4, "z"), *(instance("1g.10gb", start, name) for start, name in enumerate("abc"))]
    found = [tuple(kind[3][0][0] for kind, _ in one.kept) for one in matches(A100, runs, wants)]
    assert found == [("a", "b"), ("c",)]


def test_nothing_is_kept_of_what_is_shared_otherwise_or_is_not_there():
    half = Tenancy("mps", None, None, 50.0, (("a", 1, 1),), (("a", 10.0),))
    one = instance("1g.10gb", 0, "a")
    assert matches(A100, [one], [half]) == matches(A100, [half], [one]) == matches(A100, [], [one]) == []
    assert matches(A100, [half, half], [half]) == [Match(((half.kind, 1),), None)]


def test_those_stay_that_stand_on_the_layout_and_as_the_plan_says_and_are_told_in_their_order():
    def ones(*starts):
        return [instance("1g.10gb", start, "a") for start in starts]

    kind = ones(0)[0].kind
    assert placed(ones(0, 6), ones(3), Match(((kind, 1),), layout(ones(6))))[0] == [1]
    assert placed(ones(0, 4, 6), ones(4, 5), Match(((kind, 2),), layout(ones(0, 4))))[0] == [0, 1]


def test_what_comes_is_what_does_not_stand_there_and_fills_the_places_from_the_first():
    """Of two of a kind the one comes for which nothing stands at its start; they differ in what they are to carry."""
    stays, comes = instance("1g.10gb", 5, "a"), replace(instance("1g.10gb", 0, "a"), capacity=(("a", 12.0),))
    at = layout((stays, comes))
    assert placed([stays], [comes, stays], Match(((stays.kind, 1),), at)) == ([0], [comes])
    more = [instance("1g.10gb", 1, name) for name in "bcd"]
    at = layout([stays, *(instance("1g.10gb", start, "x") for start in (2, 3, 4))])
    _, coming = placed([stays], [*more, stays], Match(((stays.kind, 1),), at))
    assert [(one.workloads[0], one.start) for one in coming] == [("b", 2), ("c", 3), ("d", 4)]
