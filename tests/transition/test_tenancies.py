"""Which GPUs there are on the way from one plan to the next, and how much each service needs."""

from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.transition.tenancies import IdleGpus, real_gpus, required_rps, tenancy, wanted_gpus

A100, T4 = "A100-80GB", "T4"


def whole(name, workload="a", rate=10, capacity=None, **place):
    return gpu_of(name, partition_of(None, workload, rate, capacity), **place)


def named(old, new, idle=IdleGpus()):  # noqa: B008 (nothing changes it)
    """Returns the GPUs that there are, by name, with their place and their id in the old plan."""
    return [(one.name, one.gpu, one.node, one.index, one.old_id) for one in real_gpus(old, new, idle)]


def test_without_idle_ones_there_are_the_gpus_of_the_old_plan():
    old = plan_of(whole(f"{A100}/0"), whole(f"{T4}/0", node="n", index=3))
    assert named(old, old) == [
        (f"{A100}/0", A100, None, None, f"{A100}/0"),
        ("n/3", T4, "n", 3, f"{T4}/0"),
    ]
    assert [one.sharing for one in real_gpus(old, old, IdleGpus())] == ["exclusive", "exclusive"]


def test_what_the_new_plan_has_more_of_a_type_is_idle_and_has_its_name_where_it_has_one():
    old = plan_of(whole(f"{A100}/0", node="n", index=0))
    new = plan_of(
        whole(f"{A100}/0", node="n", index=1), whole(f"{A100}/1", node="n", index=0), whole(f"{T4}/0"), whole(f"{T4}/1")
    )
    assert named(old, new)[1:] == [
        ("n/1", A100, "n", 1, None),
        (f"{T4}/idle-0", T4, None, None, None),
        (f"{T4}/idle-1", T4, None, None, None),
    ]
    # It has fewer of the other type: nothing is idle of it, and nothing is taken from what there is.
    assert [one[1] for one in named(new, old)] == [A100, A100, T4, T4]
    assert [one[0] for one in named(new, old, IdleGpus({A100: 1}))][4:] == [f"{A100}/idle-0"]


def test_idle_gpus_are_there_by_count_and_by_name_and_none_twice():
    old = plan_of(whole(f"{A100}/0", node="n", index=0))
    new = plan_of(*old.gpus, whole(f"{A100}/1", node="n", index=1))
    assert named(old, old, IdleGpus({A100: 1, T4: 1}))[1:] == [
        (f"{A100}/idle-0", A100, None, None, None),
        (f"{T4}/idle-0", T4, None, None, None),
    ]
    places = ((A100, "n", 1), (A100, "n", 2), (T4, "m", 1))
    assert named(old, new, IdleGpus({}, places))[1:] == [
        ("n/1", A100, "n", 1, None),
        ("n/2", A100, "n", 2, None),
        ("m/1", T4, "m", 1, None),
    ]


def test_a_named_gpu_of_the_new_plan_is_one_of_those_that_are_idle_by_count():
    old = plan_of(whole(f"{A100}/0", node="n", index=0))
    new = plan_of(whole(f"{A100}/0", node="n", index=1))
    assert named(old, new, IdleGpus({A100: 2}))[1:] == [
        ("n/1", A100, "n", 1, None),
        (f"{A100}/idle-0", A100, None, None, None),
    ]
    assert len(named(old, new)) == 1, "as many as before: the GPU that it had is another one by name"


def needs(old, new):
    """Returns what each service needs on the way."""
    runs = [one for gpu in real_gpus(old, new, IdleGpus()) for one in gpu.runs]
    return required_rps(runs, [one for gpu in wanted_gpus(new) for one in gpu.wants], old, new)


def test_a_service_of_both_plans_needs_the_lower_of_its_rates_and_no_more_than_either_gives_it():
    old = plan_of(whole(f"{A100}/0", "a", 10, 15), whole(f"{A100}/1", "a", 20, 15), whole(f"{A100}/2", "gone", 1))
    assert needs(old, plan_of(whole(f"{A100}/0", "a", 25, 40), whole(f"{A100}/1", "new", 1))) == {"a": 25}
    assert needs(old, plan_of(whole(f"{A100}/0", "a", 50))) == {"a": 30}
    assert needs(old, plan_of(whole(f"{A100}/0", "a", 50, 28))) == {"a": 28}
    short = plan_of(whole(f"{A100}/0", "a", 30, 12))
    assert needs(short, old) == {"a": 12}


def test_a_named_gpu_is_idle_as_one_of_its_own_type():
    old = plan_of(whole(f"{A100}/0"))
    new = plan_of(whole(f"{T4}/0", node="n", index=0), whole(f"{A100}/0", node="n", index=1), whole(f"{A100}/1"))
    assert named(old, new)[1:] == [("n/0", T4, "n", 0, None), ("n/1", A100, "n", 1, None)]


def test_the_share_of_what_has_none_is_the_whole_gpu():
    assert tenancy(partition_of(40, "a", 10), "mps").percent == 40
    assert tenancy(partition_of(None, "a", 10), "exclusive").percent == 100
