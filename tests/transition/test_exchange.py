"""Where MIG-serving's exchange puts what arrives: on the fullest GPU of its type that has room, idle ones last."""

from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.transition.replay import replay
from sliceplan.solver.transition.tenancies import IdleGpus

A100, H100 = "A100-80GB", "H100-80GB-SXM"


def placed(old, new, idle=None):
    """Returns where each service of the new plan starts that was not in the old one: GPU and start."""
    found = plan_transition(old, new, idle=IdleGpus(idle or {}), strategy="exchange-and-compact")
    assert replay(old, found.assigned, found.transition) == []
    return {
        step.workloads[0]: (step.gpu, step.start) for step in found.transition.steps if step.kind == "start"
    }, found.transition


def test_an_arrival_goes_where_least_room_is_left_and_to_an_idle_gpu_last():
    some = gpu_of(f"{A100}/0", partition_of("1g.10gb@0", "a", 10))
    more = gpu_of(f"{A100}/1", partition_of("4g.40gb@0", "b", 40))
    small = partition_of("3g.40gb@4", "c", 30)
    old = plan_of(some, more)
    new = plan_of(some, gpu_of(f"{A100}/1", *more.partitions, small))
    where, transition = placed(old, new, {A100: 1})
    assert where == {"c": (f"{A100}/1", 4)}
    assert transition.peak_gpus == 2
    assert transition.temporary == 0
    # It has no room there: the next best is the GPU that is in use.
    full = gpu_of(f"{A100}/1", *more.partitions, partition_of("3g.40gb@4", "d", 30))
    where, _ = placed(plan_of(some, full), plan_of(gpu_of(f"{A100}/0", *some.partitions, small), full), {A100: 1})
    assert where == {"c": (f"{A100}/0", 4)}


def test_an_arrival_starts_as_far_up_as_it_can_where_it_stands_in_the_way_of_least():
    large = partition_of("3g.40gb@0", "a", 40)
    new = plan_of(gpu_of(f"{A100}/0", large, partition_of("1g.10gb@4", "b", 10)))
    where, _ = placed(plan_of(gpu_of(f"{A100}/0", large)), new)
    assert where == {"b": (f"{A100}/0", 6)}


def test_an_arrival_goes_to_a_gpu_of_its_type():
    """The other type has the profile too, and less room; what was planned on one is not known of the other."""
    full = gpu_of(f"{H100}/0", partition_of("4g.40gb@0", "a", 40))
    other = gpu_of(f"{A100}/0", partition_of("1g.10gb@0", "b", 10))
    arrival = partition_of("3g.40gb@4", "c", 30)
    where, _ = placed(plan_of(full, other), plan_of(full, gpu_of(f"{A100}/0", *other.partitions, arrival)))
    assert where == {"c": (f"{A100}/0", 4)}


def test_a_share_goes_where_the_fewest_percent_are_free():
    half, more = gpu_of(f"{A100}/0", partition_of(50, "a", 10)), gpu_of(f"{A100}/1", partition_of(60, "b", 10))
    arrival = partition_of(40, "c", 10)
    where, _ = placed(plan_of(half, more), plan_of(half, gpu_of(f"{A100}/1", *more.partitions, arrival)), {A100: 1})
    assert where == {"c": (f"{A100}/1", None)}


def moves(old, new):
    """Returns how many partitions a transition keeps, creates and destroys."""
    _, found = placed(old, new)
    return found.kept, found.created, found.destroyed


def test_only_as_many_go_as_are_too_many():
    """The others may go for their rate, too, and would have to come back."""
    parts = [partition_of(f"1g.10gb@{start}", "a", 1, capacity=10) for start in range(3)]
    old = plan_of(gpu_of(f"{A100}/0", *parts))
    new = plan_of(gpu_of(f"{A100}/0", *(partition_of(f"1g.10gb@{start}", "a", 1.5, capacity=10) for start in (0, 1))))
    assert moves(old, new) == (2, 0, 1)


def test_a_gpu_becomes_the_one_of_the_new_plan_that_shares_most_with_it():
    a, b = (gpu_of(f"{A100}/{i}", partition_of("3g.40gb@0", name, 10)) for i, name in enumerate("ab"))
    turned = [one.model_copy(update={"id": other.id}) for one, other in ((b, a), (a, b))]
    assert moves(plan_of(a, b), plan_of(*turned)) == (2, 0, 0)


def test_what_a_gpu_keeps_that_is_fuller_than_any_of_the_new_plan():
    """No GPU of the new plan has room for all of it; the one that is left to it shares one instance."""
    large, other, small = (
        partition_of(place, name, 10) for place, name in (("4g.40gb@0", "a"), ("3g.40gb@4", "b"), ("1g.10gb@0", "c"))
    )
    old = plan_of(gpu_of(f"{A100}/0", large, other), gpu_of(f"{A100}/1", small))
    new = plan_of(gpu_of(f"{A100}/0", large, partition_of("1g.10gb@4", "c", 10)), gpu_of(f"{A100}/1", other))
    assert moves(old, new) == (1, 2, 2)


def test_an_instance_comes_to_no_gpu_that_is_in_use_by_shares():
    shares = gpu_of(f"{A100}/0", partition_of(60, "a", 10))
    where, _ = placed(plan_of(shares), plan_of(shares, gpu_of(f"{A100}/1", partition_of("3g.40gb@0", "c", 30))))
    assert where["c"][0] != f"{A100}/0"
