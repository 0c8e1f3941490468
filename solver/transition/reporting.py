"""What a transition's file says of its GPUs and steps."""

from collections import Counter
from collections.abc import Sequence
from math import inf

from ..model.plan import Plan
from ..model.transition import TransitionGpu, TransitionStep
from .graph import UntimedStep
from .tenancies import WantedGpu
from .timing import is_gain
from .world import THERE_AT_FIRST, World


def step_record(world: World, steps: Sequence[UntimedStep], at: int, time: tuple[float, float]) -> TransitionStep:
    """Returns a step with its estimated begin and end."""
    step = steps[at]
    sign = 0
    if step.kind == "redirect":
        sign = 1 if is_gain(step, steps) else -1
    in_use = step.kind not in ("change_mode", "create", "destroy")
    is_place = step.kind != "change_mode"
    return TransitionStep(
        id=at,
        kind=step.kind,
        gpu=world.real[step.gpu].name,
        mig_profile=step.tenancy.mig_profile if is_place else None,
        start=step.tenancy.start if is_place else None,
        sm_percent=step.tenancy.sm_percent if is_place else None,
        mode=step.mode,
        needs_reset=step.needs_reset,
        workloads=step.tenancy.workloads if in_use else (),
        capacity_rps={workload: sign * capacity for workload, capacity in step.tenancy.capacity} if sign else None,
        temporary=step.item >= 0 and world.items[step.item].role == "bridges",
        after=step.after,
        starts_s=time[0],
        ends_s=time[1],
        cores=step.tenancy.cores if is_place else None,
        from_start=None if step.origin is None else world.items[step.origin].tenancy.start,
    )


def gpu_records(
    world: World, wanted: Sequence[WantedGpu], places: Sequence[int], assigned: Plan
) -> tuple[TransitionGpu, ...]:
    """Returns the GPUs that hold something at any time, and what they are in both plans."""
    becomes = {g: wanted[j].id for j, g in enumerate(places)}
    ids = {g: gpu.id for g, gpu in zip(places, assigned.gpus, strict=True)}
    kept = Counter(item.gpu for item in world.items if item.role == "stays")
    touched = {item.gpu for item in world.items}
    return tuple(
        TransitionGpu(
            name=gpu.name,
            gpu=gpu.gpu,
            node=gpu.node,
            index=gpu.index,
            old_id=gpu.old_id,
            new_id=becomes.get(g),
            assigned_id=ids.get(g),
            kept=kept[g],
        )
        for g, gpu in enumerate(world.real)
        if g in touched
    )


def peak_gpus(world: World, steps: Sequence[UntimedStep], times: Sequence[tuple[float, float]]) -> int:
    """Returns how many GPUs hold something at once, at most, by the schedule."""
    begins = {i: -inf for i, item in enumerate(world.items) if item.role in THERE_AT_FIRST}
    ends: dict[int, float] = {}
    for step, (begin, end) in zip(steps, times, strict=True):
        if step.kind in ("create", "start"):
            begins.setdefault(step.item, begin)
        if step.kind == "stop":
            ends[step.item] = end
        if step.kind == "repin" and step.origin is not None:
            begins[step.item], ends[step.origin] = begin, end
    # At one moment what ends does so before anything begins.
    changes = [(begin, 1, world.items[i].gpu) for i, begin in begins.items()]
    changes += [(end, -1, world.items[i].gpu) for i, end in ends.items()]
    held: Counter[int] = Counter()
    in_use: set[int] = set()
    most = 0
    for _, change, gpu in sorted(changes):
        held[gpu] += change
        (in_use.add if held[gpu] > 0 else in_use.discard)(gpu)
        most = max(most, len(in_use))
    return most
