"""
A transition as a few plans in a row, for agents that each bring their own node from one state to the next.

Between two stages nothing is ordered: an agent destroys before it creates, and none knows how far the others are. So a
stage may remove only what its services can spare of what they have in the stage before, without counting anything that
comes in the same stage. When all agents have reached a stage, the next may begin; the last one is the new plan.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..model.labels import labels_of_both
from ..model.plan import Bound, Partition, Plan, PlannedGpu, Search, Status
from ..model.stop_reason import StopReason
from .tenancies import Tenancy, TenancyKind, tenancy
from .timing import is_gain
from .world import SLACK, THERE_AT_FIRST, Event, World

if TYPE_CHECKING:
    from .planning import PlannedTransition

BETWEEN = "a stage on the way to another plan; what it costs is not planned"


MISSES = "the plan that it leads to misses SLOs (status violating)"


def stages(old: Plan, planned: "PlannedTransition") -> list[Plan]:
    """
    Returns the plans to go through, in their order; the last is the new plan, and the old one is not among them.

    Parameters
    ----------
    old
        The plan that the transition begins with.
    """
    samples, labels = _samples(old, planned.assigned), labels_of_both(old, planned.assigned)
    states = list(_states(planned))
    between = [_plan(planned, state, number, len(states), samples) for number, state in enumerate(states[:-1], start=1)]
    between = [plan.model_copy(update={"labels": labels}) for plan in between]
    return [*between, planned.assigned] if states else []


def _states(planned: "PlannedTransition") -> Iterator[list[list[int]]]:
    """Yields the items on each GPU at the end of every stage."""
    world = planned.world
    on = _initial(world)
    live: defaultdict[str, float] = defaultdict(float)
    for i in (i for items in on for i in items):
        for workload, capacity in world.items[i].tenancy.capacity:
            live[workload] += capacity
    stable = live.copy()
    events = _by_time(planned)
    changed = False
    origins = {step.item: step.origin for step in planned.steps if step.origin is not None}
    for event in events:
        item = world.items[event.item]
        if event.item in origins:
            # It serves all the while, so that it has what it had.
            on[item.gpu].remove(origins[event.item])
            on[item.gpu].append(event.item)
            changed = True
            continue
        # Where a service falls short whatever comes first, a stage that is the one before it would not help.
        if changed and not event.brings and _falls_short(world, stable, item.tenancy):
            yield [list(items) for items in on]
            stable = live.copy()
        changed = True
        for workload, capacity in item.tenancy.capacity:
            live[workload] += capacity if event.brings else -capacity
            if not event.brings:
                stable[workload] -= capacity
        if event.brings:
            on[item.gpu].append(event.item)
        else:
            on[item.gpu].remove(event.item)
    if events:
        yield on


def _initial(world: World) -> list[list[int]]:
    on: list[list[int]] = [[] for _ in world.real]
    for i, item in enumerate(world.items):
        if item.role in THERE_AT_FIRST:
            on[item.gpu].append(i)
    return on


def _by_time(planned: "PlannedTransition") -> list[Event]:
    """Returns the comings and goings by the schedule, so that what can happen together falls into one stage."""
    found = [
        (end, step.item, True) if step.kind == "repin" or is_gain(step, planned.steps) else (begin, step.item, False)
        for step, (begin, end) in zip(planned.steps, planned.times, strict=True)
        if step.kind in ("redirect", "repin")
    ]
    # At one moment what comes goes first: what leaves at that moment may have waited for it.
    timed = [Event(i, brings) for _, i, brings in sorted(found, key=lambda entry: (entry[0], not entry[2], entry[1]))]
    # Partitions that are kept free have no requests to redirect.
    free = [event for event in planned.world.events if not planned.world.items[event.item].tenancy.serves]
    return [*(e for e in free if not e.brings), *timed, *(e for e in free if e.brings)]


def _falls_short(world: World, stable: Mapping[str, float], leaving: Tenancy) -> bool:
    return any(
        stable[workload] - capacity < world.required[workload] * (1 - SLACK)
        for workload, capacity in leaving.capacity
        if workload in world.required
    )


def _samples(*plans: Plan) -> dict[tuple[str, TenancyKind], Partition]:
    """Returns a partition of either plan for each GPU type and kind of tenancy."""
    return {
        (gpu.gpu, tenancy(partition, gpu.sharing).kind): partition
        for plan in plans
        for gpu in plan.gpus
        for partition in gpu.partitions
    }


def _plan(
    planned: "PlannedTransition",
    state: list[list[int]],
    number: int,
    count: int,
    samples: Mapping[tuple[str, TenancyKind], Partition],
) -> Plan:
    world = planned.world
    gpus = []
    ids = {gpu.name: gpu.assigned_id or gpu.old_id or gpu.name for gpu in planned.transition.gpus}
    for g, items in enumerate(state):
        if not items:
            continue
        real = world.real[g]
        tenancies = [world.items[i].tenancy for i in items]
        partitions = [
            samples[real.gpu, one.kind].model_copy(update={"start": one.start})
            for one in sorted(tenancies, key=lambda one: (one.start or 0, one.serves))
        ]
        gpus.append(
            PlannedGpu(
                id=ids[real.name],
                gpu=real.gpu,
                node=real.node,
                index=real.index,
                sharing=tenancies[0].sharing,
                partitions=tuple(partitions),
            )
        )
    missing = (MISSES,) if planned.assigned.violations else ()
    return planned.assigned.model_copy(
        update={
            "status": Status.FEASIBLE,
            "cost_per_hour": None,
            "gpus_used": len(gpus),
            "bound": Bound(cost_per_hour=None, gpus=None, method=f"none: {BETWEEN}"),
            "gap": None,
            "search": Search(stopped=StopReason.HEURISTIC_DONE, time_limit_s=None, solver=None),
            "gpus": tuple(gpus),
            "violations": (),
            "warnings": (f"stage {number} of {count}: {BETWEEN}", *missing),
            "metrics": None,
            "prices": None,
            "insurance": None,
            "shadow": None,
        }
    )
