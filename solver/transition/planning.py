"""From two plans to a transition: who goes where, in which order, with which steps, how long, and at what harm."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..model.plan import Partition, Plan, PlannedGpu
from ..model.transition import Disturbance, Durations, Strategy, Transition, TransitionGpu, TransitionStep
from .assignment import Assignment, least_disturbance
from .bridges import BridgeSizes, bridge_sizes
from .exchange_and_compact import exchange_and_compact
from .graph import Step, as_steps
from .matches import placed
from .ordering import order
from .tenancies import (
    Kind,
    RealGpu,
    Tenancy,
    WantedGpu,
    capacity_rps,
    real_gpus,
    required_rps,
    tenancy,
    wanted_gpus,
)
from .timing import is_gain, shortfalls, times_of
from .world import Item, World

MOST_RESTARTS = 12
"""Other orders that are tried where something falls short."""

RESTARTED_CHANGES = 6000
"""Arrivals and departures in all of them together, at most; a count and not a time, so that equal runs are equal."""

UNCHANGED = Durations()


@dataclass(frozen=True)
class PlannedTransition:
    """A transition, and the new plan with its GPUs and places filled in."""

    transition: Transition
    assigned: Plan
    world: World
    """The order that the steps were made from."""


def plan_transition(
    old: Plan,
    new: Plan,
    *,
    spare: Mapping[str, int] | None = None,
    strategy: Strategy = "least-disturbance",
    durations: Durations = UNCHANGED,
    fixed_starts: bool = False,
    time_limit_s: float = 5.0,
) -> PlannedTransition:
    """
    Returns the steps from the plan that is running to another.

    Parameters
    ----------
    spare
        GPU type -> idle GPUs that may be used on the way, beside as many as the plan has that uses more.
    fixed_starts
        Whether the new plan's MIG instances must start where it says; else they may stand elsewhere on their GPU,
        so that more of what runs can stay.
    time_limit_s
        For the assignment of the new plan's GPUs.
    """
    real, wanted = real_gpus(old, new, spare or {}), wanted_gpus(new)
    runs = [one for gpu in real for one in gpu.runs]
    required = required_rps(runs, [one for gpu in wanted for one in gpu.wants], old, new)
    sizes = bridge_sizes(
        [
            *((gpu.gpu, one) for gpu in real for one in gpu.runs),
            *((gpu.gpu, one) for gpu in wanted for one in gpu.wants),
        ]
    )
    if strategy == "least-disturbance":
        assignment = least_disturbance(real, wanted, required, fixed_starts=fixed_starts, time_limit_s=time_limit_s)
        world = _least_harm(real, wanted, assignment, required, sizes, durations)
        places = assignment.real
        fewest, proven, method = assignment.fewest_services, assignment.proven, assignment.method
    else:
        world, places = exchange_and_compact(real, wanted, required, sizes, fixed_starts=fixed_starts)
        fewest, proven, method = None, False, "MIG-serving's compaction, GPU by GPU"
    before = capacity_rps(runs)
    steps = as_steps(world, before)
    times = times_of(steps, durations)
    moved = [item for item in world.items[: len(runs)] if item.role == "leaves"]
    services = {workload for item in moved for workload in item.tenancy.workloads}
    disturbed = Disturbance(
        services=tuple(sorted(services & set(required))),
        fewest=fewest,
        proven=proven,
        partitions=sum(any(workload in required for workload in item.tenancy.workloads) for item in moved),
        method=method,
    )
    kinds = Counter(step.kind for step in steps)
    assigned = _assigned(new, world, places)
    transition = Transition(
        version=1,
        old=old.problem,
        new=new.problem,
        strategy=strategy,
        kept=sum(item.role == "stays" for item in world.items),
        created=kinds["create"],
        destroyed=kinds["destroy"],
        moved=disturbed.partitions,
        temporary=sum(item.role == "bridges" for item in world.items),
        mode_changes=kinds["change_mode"],
        resets=sum(step.needs_reset for step in steps),
        disturbed=disturbed,
        shortfalls=tuple(shortfalls(world, steps, times, before)),
        estimated_s=max((end for _, end in times), default=0.0),
        peak_gpus=_peak(world, steps, times),
        durations=durations,
        gpus=_gpus(world, wanted, places, assigned),
        steps=tuple(_record(world, steps, at, times[at]) for at in range(len(steps))),
    )
    return PlannedTransition(transition, assigned, world)


def _least_harm(
    real: Sequence[RealGpu],
    wanted: Sequence[WantedGpu],
    assignment: Assignment,
    required: Mapping[str, float],
    sizes: BridgeSizes,
    durations: Durations,
) -> World:
    """Returns the best order found: the one that loses the fewest requests, as estimated."""
    items = _items(real, wanted, assignment)
    best = order(real, items, required, sizes)
    harm = _harm(best, durations)
    changes = sum(item.role != "stays" for item in items)
    for seed in range(min(MOST_RESTARTS, RESTARTED_CHANGES // max(1, changes))):
        if harm == NO_HARM:
            break
        other = order(real, items, required, sizes, seed=seed)
        if (harm_of_other := _harm(other, durations)) < harm:
            best, harm = other, harm_of_other
    return best


NO_HARM = (0.0, 0.0)


def _harm(world: World, durations: Durations) -> tuple[float, float]:
    """Returns the requests that are lost, and by how many requests/s services fall short at their worst moments."""
    before = _before(world)
    steps = as_steps(world, before)
    found = shortfalls(world, steps, times_of(steps, durations), before)
    return sum(one.lost_requests for one in found), sum(one.missing_rps for one in found)


def _before(world: World) -> dict[str, float]:
    return capacity_rps(one for gpu in world.real for one in gpu.runs)


def _items(real: Sequence[RealGpu], wanted: Sequence[WantedGpu], assignment: Assignment) -> list[Item]:
    """Returns everything that runs, GPU by GPU, and then everything that comes."""
    becomes = {g: j for j, g in enumerate(assignment.real)}
    items: list[Item] = []
    coming: list[Item] = []
    for g, gpu in enumerate(real):
        stay: list[int] = []
        if g in becomes:
            j = becomes[g]
            stay, arrivals = placed(gpu.runs, wanted[j].wants, assignment.match[j])
            coming += [Item(g, one, "comes") for one in arrivals]
        items += [Item(g, one, "stays" if i in stay else "leaves") for i, one in enumerate(gpu.runs)]
    return [*items, *coming]


def _record(world: World, steps: Sequence[Step], at: int, time: tuple[float, float]) -> TransitionStep:
    step = steps[at]
    sign = 0
    if step.kind == "redirect":
        sign = 1 if is_gain(world, step, steps) else -1
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
    )


def _gpus(
    world: World, wanted: Sequence[WantedGpu], places: Sequence[int], assigned: Plan
) -> tuple[TransitionGpu, ...]:
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


def _peak(world: World, steps: Sequence[Step], times: Sequence[tuple[float, float]]) -> int:
    """Returns how many GPUs hold something at once, at most, by the schedule."""
    begins = {i: 0.0 for i, item in enumerate(world.items) if item.role in ("stays", "leaves")}
    ends: dict[int, float] = {}
    for step, (begin, end) in zip(steps, times, strict=True):
        if step.item >= 0 and step.kind in ("create", "start"):
            begins[step.item] = min(begin, begins.get(step.item, begin))
        if step.item >= 0 and step.kind == "stop":
            ends[step.item] = end
    last = max((end for _, end in times), default=0.0)
    changes = []
    spans: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    for i, begin in begins.items():
        spans[world.items[i].gpu].append((begin, ends.get(i, last + 1)))
    for own in spans.values():
        now = -1.0
        own.sort()
        for begin, end in own:
            if begin > now:
                changes += [(begin, 1, 1)]
                if now >= 0:
                    changes += [(now, 0, -1)]
            now = max(now, end)
        if now >= 0:
            changes += [(now, 0, -1)]
    most = count = 0
    for _, _, change in sorted(changes):
        count += change
        most = max(most, count)
    return most


def _assigned(new: Plan, world: World, places: Sequence[int]) -> Plan:
    """Returns the new plan with the GPUs that it was given: id, node and index, and where instances stand."""
    taken = {gpu.old_id for gpu in world.real}
    numbers: Counter[str] = Counter()
    gpus = []
    for planned, g in zip(new.gpus, places, strict=True):
        real = world.real[g]
        name = real.old_id
        while name is None or (real.old_id is None and name in taken):
            name = f"{real.gpu}/{numbers[real.gpu]}"
            numbers[real.gpu] += 1
        taken.add(name)
        gpus.append(
            planned.model_copy(
                update={
                    "id": name,
                    "node": real.node,
                    "index": real.index,
                    "partitions": _placed_partitions(planned, world.present(g)),
                }
            )
        )
    return new.model_copy(update={"gpus": tuple(gpus)})


def _placed_partitions(planned: PlannedGpu, present: Sequence[Tenancy]) -> tuple[Partition, ...]:
    if planned.sharing != "mig":
        return planned.partitions
    starts: dict[Kind, list[int]] = {}
    for one in present:
        starts.setdefault(one.kind, []).append(one.start or 0)
    # Who stands where it should already keeps its start; the others share what is left.
    rest = []
    settled = []
    for partition in planned.partitions:
        own = starts[tenancy(partition, planned.sharing).kind]
        if partition.start in own:
            own.remove(partition.start)
            settled.append(partition)
        else:
            rest.append(partition)
    for partition in rest:
        start = starts[tenancy(partition, planned.sharing).kind].pop()
        settled.append(partition.model_copy(update={"start": start}))
    return tuple(sorted(settled, key=lambda partition: partition.start or 0))
