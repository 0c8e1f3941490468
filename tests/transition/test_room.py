"""What fits together on one GPU, and what has to go so that something else does."""

import pytest
from problems.small_plans import cores_of, partition_of

from sliceplan.solver.transition import room
from sliceplan.solver.transition.room import fits, free_profiles, in_the_way, overlap, placement, rules_of
from sliceplan.solver.transition.tenancies import tenancy

A100 = "A100-80GB"


def mig(place):
    return tenancy(partition_of(place, "a", 1), "mig")


def share(percent):
    return tenancy(partition_of(percent, "a", 1), "mps")


WHOLE = tenancy(partition_of(None, "a", 1), "exclusive")


def test_a_gpu_without_mig_has_no_rules():
    with pytest.raises(ValueError, match="T4 has no MIG"):
        rules_of("T4")


@pytest.mark.parametrize("one", [WHOLE, share(50), tenancy(partition_of("1g.10gb@0", "a", 1), "mig")])
def test_what_is_no_instance_has_no_placement(one):
    if one.mig_profile is None:
        with pytest.raises(ValueError, match="not a MIG instance"):
            placement(one)
        return
    assert (placement(one).start, placement(one).profile) == (0, "1g.10gb")
    with pytest.raises(ValueError, match="not a MIG instance"):
        placement(tenancy(partition_of("1g.10gb@0", "a", 1).model_copy(update={"start": None}), "mig"))


def test_what_is_no_partition_of_a_cpu_has_no_cores():
    assert room.cores_of(tenancy(cores_of(8, 4, "a", 1), "cores")) == range(8, 12)
    for missing in ("cores", "start"):
        one = tenancy(cores_of(8, 4, "a", 1).model_copy(update={missing: None}), "cores")
        with pytest.raises(ValueError, match="not a partition of a CPU"):
            room.cores_of(one)


@pytest.mark.parametrize(
    ("present", "added", "right"),
    [
        ([], WHOLE, True),
        ([WHOLE], WHOLE, False),
        ([WHOLE], share(1), False),
        ([share(50), share(20)], share(30), True),
        ([share(50), share(20)], share(30.5), False),
        ([share(10)], mig("1g.10gb@0"), False),
        ([mig("4g.40gb@0")], mig("3g.40gb@4"), True),
        ([mig("4g.40gb@0")], mig("1g.10gb@3"), False),
    ],
)
def test_what_fits_beside_what_is_there(present, added, right):
    assert fits(A100, present, added) == right


def test_intervals_overlap_that_have_a_unit_in_common():
    four, one = placement(mig("4g.40gb@0")), [placement(mig(f"1g.10gb@{start}")) for start in range(7)]
    assert [overlap(A100, four, small) for small in one] == [True] * 4 + [False] * 3
    assert [overlap(A100, small, four) for small in one] == [True] * 4 + [False] * 3


def test_profiles_of_which_one_more_fits():
    assert free_profiles(A100, (placement(mig("4g.40gb@0")), placement(mig("2g.20gb@4")))) == {
        "1g.10gb",
        "1g.10gb+me",
        "1g.20gb",
    }


@pytest.mark.parametrize(
    ("present", "movable", "added", "gone"),
    [
        # Nothing is in the way.
        ([], [], WHOLE, []),
        ([share(50)], [False], share(50), []),
        # On a GPU that is shared otherwise all has to go.
        ([share(20), share(20)], [True, True], mig("1g.10gb@0"), [0, 1]),
        ([share(20), share(20)], [True, False], mig("1g.10gb@0"), None),
        ([WHOLE], [True], WHOLE, [0]),
        ([WHOLE], [False], WHOLE, None),
        # Shares go in their order until there is room.
        ([share(30), share(30), share(30)], [True, True, True], share(50), [0, 1]),
        ([share(30), share(30), share(30)], [False, True, True], share(50), [1, 2]),
        ([share(30), share(30), share(30)], [False, True, False], share(50), None),
        # Instances on the same units go, and others only where that is not enough.
        ([mig("1g.10gb@0"), mig("1g.10gb@1"), mig("1g.10gb@5")], [True, True, True], mig("2g.20gb@0"), [0, 1]),
        ([mig("1g.10gb@0"), mig("1g.10gb@1"), mig("1g.10gb@5")], [True, False, True], mig("2g.20gb@0"), None),
        ([mig("1g.10gb@0"), mig("1g.10gb+me@5")], [True, True], mig("1g.10gb+me@0"), [0, 1]),
        ([mig("1g.10gb@1"), mig("1g.10gb+me@5")], [True, False], mig("1g.10gb+me@0"), None),
    ],
)
def test_what_has_to_go(present, movable, added, gone):
    assert in_the_way(A100, present, movable, added) == gone
