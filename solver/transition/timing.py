"""When steps begin and end, and which services fall short meanwhile, as estimated."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ..model.transition import Durations, Shortfall
from .graph import UntimedStep
from .world import SLACK, World

UNCHANGED = Durations()
"""What steps are taken to last where nobody says otherwise."""


def times_of(steps: Sequence[UntimedStep], durations: Durations) -> list[tuple[float, float]]:
    """Returns begin and end of each step, in seconds: each begins as soon as all that it waits for has ended."""
    times: list[tuple[float, float]] = []
    for step in steps:
        begin = max((times[other][1] for other in step.after), default=0.0)
        times.append((begin, begin + _duration(step, durations)))
    return times


def shortfalls(
    world: World, steps: Sequence[UntimedStep], times: Sequence[tuple[float, float]], before: Mapping[str, float]
) -> list[Shortfall]:
    """
    Returns the services that fall below what they require.

    The amount is that of the order (graph.py: no cut of the graph has less); the times are those of the schedule.
    """
    worst = _worst_in_order(world, before)
    changes: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for step, (begin, end) in zip(steps, times, strict=True):
        if step.kind == "redirect":
            gains = is_gain(step, steps)
            for workload, capacity in step.tenancy.capacity:
                if workload in worst:
                    changes[workload].append((end, capacity) if gains else (begin, -capacity))
    found = []
    for workload, missing in sorted(worst.items()):
        required = world.required[workload]
        spans = _below(before[workload], required, gains_first(changes[workload]))
        found.append(
            Shortfall(
                workload=workload,
                required_rps=required,
                missing_rps=missing,
                from_s=spans[0][0] if spans else None,
                until_s=spans[-1][1] if spans else None,
                lost_requests=sum((until - since) * short for since, until, short in spans),
            )
        )
    return found


def is_gain(step: UntimedStep, steps: Sequence[UntimedStep]) -> bool:
    """Tells whether a redirection sends requests to its partition, which it has seen start, or away from it."""
    return any(steps[other].kind == "start" for other in step.after)


def gains_first(changes: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Returns moments and changes of a capacity in order; at one moment what comes is first: it may be awaited."""
    return sorted(changes, key=lambda change: (change[0], -change[1]))


def _duration(step: UntimedStep, durations: Durations) -> float:
    if step.needs_reset:
        return durations.reset_s
    return float(getattr(durations, f"{step.kind}_s"))


def _worst_in_order(world: World, before: Mapping[str, float]) -> dict[str, float]:
    """Returns for each service that falls short by how much at most, requests/s."""
    live = defaultdict(float, before)
    worst: dict[str, float] = {}
    for event in world.events:
        for workload, capacity in world.items[event.item].tenancy.capacity:
            live[workload] += capacity if event.brings else -capacity
            required = world.required.get(workload, 0.0)
            short = required - live[workload]
            if required > 0 and short > SLACK * required:
                worst[workload] = max(short, worst.get(workload, 0.0))
    return worst


def _below(
    capacity: float, required: float, changes: Sequence[tuple[float, float]]
) -> list[tuple[float, float, float]]:
    """Returns begin, end and missing requests/s of each span in which a capacity is below what is required."""
    spans = []
    now = 0.0
    for time, change in changes:
        if time > now and required - capacity > SLACK * required:
            spans.append((now, time, required - capacity))
        capacity += change
        now = time
    return spans
