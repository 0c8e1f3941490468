"""The memory slices of a GPU that is cut by MIG."""

import pytest
from problems.instances import problem_of

from sliceplan.solver.api import solve
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.metrics.plan_metrics import measure
from sliceplan.solver.metrics.slice_map import SliceState, slices_of
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.geometry import Placement, fits, placement_rules
from sliceplan.solver.model.plan import Partition, PlannedGpu


def gpu_with(*instances, kind="A100-80GB"):
    partitions = [
        Partition(mig_profile=name, start=start, sm_percent=None, duty_cycle_ms=None, serves=())
        for start, name in instances
    ]
    return PlannedGpu(id=f"{kind}/0", gpu=kind, node=None, index=None, sharing="mig", partitions=tuple(partitions))


def states(gpu):
    return [one.state for one in slices_of(gpu)]


def test_instances_and_what_is_left_beside_them():
    slices = slices_of(gpu_with((4, "3g.40gb")))
    assert [one.state for one in slices] == [SliceState.FREE] * 4 + [SliceState.KEPT_FREE] * 4
    assert "4g.40gb" in slices[0].profiles
    assert slices[0].profiles[0] in ("4g.40gb", "3g.40gb"), "the largest first"
    assert slices[5].profiles == ()


def test_a_slice_that_no_profile_can_cover_is_out_of_reach():
    full = gpu_with(*[(start, "1g.10gb") for start in range(7)])
    assert states(full)[7] is SliceState.OUT_OF_REACH
    # Two instances of 3g take all memory slices; nothing is free, although a compute slice is.
    assert set(states(gpu_with((0, "3g.40gb"), (4, "3g.40gb")))) == {SliceState.KEPT_FREE}


@pytest.mark.parametrize("name", ["demo", "parvagpu-s5"])
def test_slots_agree_with_the_placement_rules_and_the_metrics(name):
    plan = solve(example_problems()[name], "parvagpu")
    cuts = {cut.id: cut for cut in plan.metrics.gpus}
    for gpu in plan.gpus:
        rules = placement_rules(load_catalogue()[gpu.gpu].mig)
        layout = tuple(sorted(Placement(part.start, part.mig_profile) for part in gpu.partitions))
        slices = slices_of(gpu)
        free = [one for one in slices if one.state in (SliceState.FREE, SliceState.OUT_OF_REACH)]
        assert len(free) == cuts[gpu.id].free_memory_slices
        assert {profile for one in slices for profile in one.profiles} == set(cuts[gpu.id].addable)
        for one in free:
            covering = {
                rule.name
                for rule in rules.profiles
                for start in rule.starts
                if start <= one.index < start + rule.memory_slices and fits(rules, layout, Placement(start, rule.name))
            }
            assert set(one.profiles) == covering


def test_what_is_not_cut_by_mig_has_no_slots():
    plan = solve(example_problems()["igniter"], "igniter")
    assert all(slices_of(gpu) == () for gpu in plan.gpus)
    assert measure(example_problems()["igniter"], plan, []) is not None
    whole = solve(problem_of([{"model": "bert", "rate_rps": 5, "slo_ms": 500}]), "whole-gpu")
    assert [len(slices_of(gpu)) for gpu in whole.gpus] in ([0], [8])
