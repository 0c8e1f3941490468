"""The new plan as it will run: names of GPUs, and where its instances stand."""

from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.transition.assigned_plan import assigned_plan
from sliceplan.solver.transition.tenancies import RealGpu, tenancy
from sliceplan.solver.transition.world import Item, World

A100, T4 = "A100-80GB", "T4"


def test_a_gpu_keeps_its_id_and_one_that_was_idle_gets_the_first_that_is_free():
    """The free names of each type are counted apart; one that the old plan has is left out."""
    whole = partition_of(None, "a", 10)
    real = [
        RealGpu("n/3", A100, "n", 3, f"{A100}/1", "exclusive", ()),
        *(RealGpu(f"idle {i}", A100, None, None, None, None, ()) for i in range(3)),
        RealGpu("other", T4, "m", 0, None, None, ()),
    ]
    world = World(real, [Item(g, tenancy(whole, "exclusive"), "stays") for g in range(5)], {})
    new = plan_of(*(gpu_of(f"{gpu}/{i}", whole) for i, gpu in enumerate([A100, A100, T4, A100, A100])))
    assigned = assigned_plan(new, world, [1, 0, 4, 3, 2])
    assert [(gpu.id, gpu.node, gpu.index) for gpu in assigned.gpus] == [
        (f"{A100}/0", None, None),
        (f"{A100}/1", "n", 3),
        (f"{T4}/0", "m", 0),
        (f"{A100}/2", None, None),
        (f"{A100}/3", None, None),
    ]


def test_who_stands_where_it_should_keeps_its_start_and_the_others_get_what_is_left():
    planned = [partition_of(f"1g.10gb@{start}", name, 10) for start, name in ((0, "a"), (5, "a"), (1, "b"))]
    there = [partition_of(f"1g.10gb@{start}", name, 10) for start, name in ((6, "a"), (0, "a"), (2, "b"))]
    real = [RealGpu("x", A100, None, None, "x", "mig", ())]
    world = World(real, [Item(0, tenancy(one, "mig"), "stays") for one in there], {})
    (gpu,) = assigned_plan(plan_of(gpu_of(f"{A100}/0", *planned)), world, [0]).gpus
    assert [(one.start, one.serves[0].workload) for one in gpu.partitions] == [(0, "a"), (2, "b"), (6, "a")]
