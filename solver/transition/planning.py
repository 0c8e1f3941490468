"""From two plans to a transition: who goes where, in which order, with which steps, how long, and at what harm."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..model.labels import labels_of_both
from ..model.plan import Plan
from ..model.transition import Disturbance, Durations, Strategy, Transition
from .assigned_plan import assigned_plan
from .assignment import Assignment, least_disturbance
from .bridges import BridgeSizes, bridge_sizes
from .core_places import core_places
from .exchange_and_compact import exchange_and_compact
from .graph import UntimedStep, as_steps
from .matches import placed
from .ordering import order
from .reporting import gpu_records, peak_gpus, step_record
from .server_sets import changed_sets
from .tenancies import (
    NONE_IDLE,
    IdleGpus,
    RealGpu,
    WantedGpu,
    capacity_rps,
    real_gpus,
    required_rps,
    wanted_gpus,
)
from .timing import UNCHANGED, shortfalls, times_of
from .world import Item, World

MOST_RESTARTS = 12
"""Other orders that are tried where something falls short."""

RESTARTED_CHANGES = 6000
"""Arrivals and departures in all of them together, at most; a count and not a time, so that equal runs are equal."""


@dataclass(frozen=True)
class PlannedTransition:
    """A transition, and the new plan with its GPUs and places filled in."""

    transition: Transition
    assigned: Plan
    world: World
    """The order that the steps were made from."""
    steps: tuple[UntimedStep, ...]
    times: tuple[tuple[float, float], ...]
    """Estimated begin and end of each step, seconds."""


def plan_transition(
    old: Plan,
    new: Plan,
    *,
    idle: IdleGpus = NONE_IDLE,
    strategy: Strategy = "least-disturbance",
    durations: Durations = UNCHANGED,
    fixed_starts: bool = False,
    time_limit_s: float = 5.0,
) -> PlannedTransition:
    """
    Returns the steps from the plan that is running to another.

    Parameters
    ----------
    idle
        GPUs beside those of both plans that may be used on the way.
    fixed_starts
        Whether the new plan's MIG instances must start where it says; else they may stand elsewhere on their GPU,
        so that more of what runs can stay.
    time_limit_s
        For the assignment of the new plan's GPUs.
    """
    real, wanted = real_gpus(old, new, idle), wanted_gpus(new)
    running = [(gpu.gpu, one) for gpu in real for one in gpu.runs]
    asked = [(gpu.gpu, one) for gpu in wanted for one in gpu.wants]
    runs = [one for _, one in running]
    required = required_rps(runs, [one for _, one in asked], old, new)
    sizes = bridge_sizes([*running, *asked])
    if strategy == "least-disturbance":
        assignment = least_disturbance(real, wanted, required, fixed_starts=fixed_starts, time_limit_s=time_limit_s)
        items = _items(real, wanted, assignment, fixed_starts)
        world = _least_harm(real, items, required, sizes, durations)
        places = assignment.real
        fewest, method = assignment.fewest_services, assignment.method
        # Where something had to leave its cores for a while, a way on which it need not was not ruled out.
        proven = assignment.proven and all(one.role == now.role for one, now in zip(items, world.items, strict=False))
    else:
        world, places = exchange_and_compact(real, wanted, required, sizes, fixed_starts=fixed_starts)
        fewest, proven, method = None, False, "MIG-serving's compaction, GPU by GPU"
    before = capacity_rps(runs)
    steps = as_steps(world, before)
    times = times_of(steps, durations)
    services, partitions = _disturbed(world, len(runs), required)
    disturbed = Disturbance(services=services, fewest=fewest, proven=proven, partitions=partitions, method=method)
    kinds = Counter(step.kind for step in steps)
    assigned = assigned_plan(new, world, places)
    records = tuple(step_record(world, steps, at, times[at]) for at in range(len(steps)))
    transition = Transition(
        version=1,
        old=old.problem,
        new=new.problem,
        strategy=strategy,
        kept=sum(item.role == "stays" for item in world.items),
        created=kinds["create"],
        destroyed=kinds["destroy"],
        moved=disturbed.partitions,
        repinned=kinds["repin"],
        temporary=sum(item.role == "bridges" for item in world.items),
        mode_changes=kinds["change_mode"],
        resets=sum(step.needs_reset for step in steps),
        disturbed=disturbed,
        shortfalls=tuple(shortfalls(world, steps, times, before)),
        by_set=changed_sets(old, new, records),
        estimated_s=max((end for _, end in times), default=0.0),
        peak_gpus=peak_gpus(world, steps, times),
        durations=durations,
        gpus=gpu_records(world, wanted, places, assigned),
        steps=records,
        labels=labels_of_both(old, new),
    )
    return PlannedTransition(transition, assigned, world, tuple(steps), tuple(times))


def _disturbed(world: World, running: int, required: Mapping[str, float]) -> tuple[tuple[str, ...], int]:
    """Returns the services that go on and lose a partition, and how many they lose, of the first items: what runs."""
    moved = [item for item in world.items[:running] if item.role == "leaves"]
    services = {workload for item in moved for workload in item.tenancy.workloads}
    partitions = sum(any(workload in required for workload in item.tenancy.workloads) for item in moved)
    return tuple(sorted(services & set(required))), partitions


def _least_harm(
    real: Sequence[RealGpu],
    items: Sequence[Item],
    required: Mapping[str, float],
    sizes: BridgeSizes,
    durations: Durations,
) -> World:
    """Returns the best order found: the one that loses the fewest requests, as estimated."""
    best = order(real, items, required, sizes)
    harm = _harm(best, durations)
    changes = sum(item.role != "stays" for item in items)
    for seed in range(min(MOST_RESTARTS, RESTARTED_CHANGES // changes) if harm != NO_HARM else 0):
        other = order(real, items, required, sizes, seed=seed)
        if (harm_of_other := _harm(other, durations)) < harm:
            best, harm = other, harm_of_other
        if harm == NO_HARM:
            break
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


def _items(
    real: Sequence[RealGpu], wanted: Sequence[WantedGpu], assignment: Assignment, fixed_starts: bool
) -> list[Item]:
    """Returns everything that runs, GPU by GPU, and then everything that comes."""
    becomes = {g: j for j, g in enumerate(assignment.real)}
    items: list[Item] = []
    coming: list[Item] = []
    for g, gpu in enumerate(real):
        stay: list[int] = []
        moves: dict[int, int] = {}
        if g in becomes:
            j = becomes[g]
            if wanted[j].sharing == "cores":
                stay, on_cores, moves = core_places(gpu.gpu, gpu.runs, wanted[j].wants, fixed_starts=fixed_starts)
                origins = {to: len(items) + i for i, to in moves.items()}
                coming += [Item(g, one, "comes", origins.get(n)) for n, one in enumerate(on_cores)]
            else:
                stay, arrivals = placed(gpu.runs, wanted[j].wants, assignment.match[j])
                coming += [Item(g, one, "comes") for one in arrivals]
        items += [
            Item(g, one, "stays" if i in stay else "moves" if i in moves else "leaves")
            for i, one in enumerate(gpu.runs)
        ]
    return [*items, *coming]
