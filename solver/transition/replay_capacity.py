"""
Replay, the capacity: no service has less than the lower of its two rates at any cut of the graph.

At the worst cut for a service, requests were redirected away from some partitions C, and only those partitions have
begun to serve that the redirections wait for. The cut that leaves least is a closure of greatest weight
(redirections away weigh their capacity, redirections to weigh minus theirs), found as a minimum cut of a network
(Picard, Management Science 22 (1976): Maximal closure of a graph and applications to combinatorial problems).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..model.plan import Plan
from ..model.transition import StepKind, Transition, TransitionStep

TOLERANCE = 1e-6
"""Relative, for sums of capacities."""


def ancestors(steps: Sequence[TransitionStep]) -> list[int]:
    """Returns for each step the set of steps that have ended before it begins, as bits."""
    found: list[int] = []
    for step in steps:
        bits = 0
        for other in step.after:
            bits |= found[other] | 1 << other
        found.append(bits)
    return found


def least_capacity(
    start: float, gains: Mapping[int, float], losses: Mapping[int, float], earlier: Sequence[int]
) -> float:
    """
    Returns the least capacity of a service over all cuts of the graph.

    Parameters
    ----------
    start
        Capacity before the first step.
    gains, losses
        Steps that redirect requests to and away from its partitions, with their capacity.
    earlier
        For each step those that have ended before it begins, as bits.
    """
    masks = {step: sum(1 << other for other in gains if earlier[step] >> other & 1) for step in losses}
    order = sorted(losses, key=lambda step: (earlier[step].bit_count(), step))
    if all(earlier[later] >> step & 1 for step, later in pairwise(order)):
        least = capacity = start
        counted = 0
        for step in order:
            new = masks[step] & ~counted
            counted |= new
            capacity += sum(gain for other, gain in gains.items() if new >> other & 1) - losses[step]
            least = min(least, capacity)
        return least
    return start - _heaviest_closure(gains, losses, earlier)


def _heaviest_closure(gains: Mapping[int, float], losses: Mapping[int, float], earlier: Sequence[int]) -> float:
    """Returns the greatest capacity that a cut can lose: the weight of the closure, from above by rounding."""
    # Few graphs need it, and loading takes longer than most of them.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    number = {step: i + 1 for i, step in enumerate([*losses, *gains])}
    sink = len(number) + 1
    total = sum(losses.values()) + sum(gains.values())
    scale = 1e9 / total
    edges = [(0, number[step], max(1, int(np.ceil(loss * scale)))) for step, loss in losses.items()]
    edges += [(number[step], sink, int(np.floor(gain * scale))) for step, gain in gains.items()]
    edges += [
        (number[step], number[other], 2_000_000_000)
        for step in losses
        for other in number
        if earlier[step] >> other & 1
    ]
    row, column, capacity = zip(*edges, strict=True)
    graph = csr_array(
        (np.array(capacity, dtype=np.int32), (np.array(row), np.array(column))), shape=(sink + 1, sink + 1)
    )
    flow = maximum_flow(graph.tocsr(), 0, sink).flow_value
    return (sum(edge[2] for edge in edges if edge[0] == 0) - int(flow)) / scale


def wrong_capacity(old: Plan, assigned: Plan, transition: Transition, earlier: Sequence[int]) -> Iterator[str]:
    """No service has less than the lower of its two rates at any cut, but by what the transition admits."""
    admitted = {one.workload: one.missing_rps for one in transition.shortfalls}
    gains: defaultdict[str, dict[int, float]] = defaultdict(dict)
    losses: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for step in transition.steps:
        for workload, capacity in (step.capacity_rps or {}).items():
            (gains if capacity > 0 else losses)[workload][step.id] = abs(capacity)
    yield from _wrong_chains(transition.steps)
    yield from _wrong_figures(old, assigned, transition)
    yield from _unnamed_sets(old, assigned, transition)
    before, after = _figures(old), _figures(assigned)
    for workload in sorted(set(before) & set(after)):
        required = min(*before[workload], *after[workload])
        least = least_capacity(before[workload][1], gains[workload], losses[workload], earlier)
        missing = required - least
        if missing > admitted.get(workload, 0.0) + TOLERANCE * required:
            yield f"{workload} can fall to {least:.6g} req/s; it needs {required:.6g}"


def _unnamed_sets(old: Plan, assigned: Plan, transition: Transition) -> Iterator[str]:
    """With a router that deals by state, whoever is redirected is named, but one that only begins or only ends."""
    if not any(plan.promise and plan.promise.dispatch in ("least_expected", "central") for plan in (old, assigned)):
        return
    known: defaultdict[str, int] = defaultdict(int)
    for gpu in old.gpus:
        for partition in gpu.partitions:
            for served in partition.serves:
                known[served.workload] += 1
    redirected = [step for step in transition.steps if step.kind == "redirect"]
    for step in redirected:
        for workload, capacity in (step.capacity_rps or {}).items():
            known[workload] += capacity > 0
    for step in redirected:
        for workload in step.workloads:
            if known[workload] > 1 and workload not in transition.by_set:
                yield f"{workload} is promised for all its partitions together, of which step {step.id} changes one"


def _wrong_figures(old: Plan, assigned: Plan, transition: Transition) -> Iterator[str]:
    """What a partition gives a service is what one of the two plans says of such a partition."""
    known: defaultdict[tuple[str, str | None, float | None, int | None, str], list[float]] = defaultdict(list)
    for gpu in (*old.gpus, *assigned.gpus):
        for partition in gpu.partitions:
            for served in partition.serves:
                key = gpu.gpu, partition.mig_profile, partition.sm_percent, partition.cores, served.workload
                known[key].append(served.carries_rps)
    types = {gpu.name: gpu.gpu for gpu in transition.gpus}
    for step in transition.steps:
        for workload, capacity in (step.capacity_rps or {}).items():
            figures = known[types[step.gpu], step.mig_profile, step.sm_percent, step.cores, workload]
            if not any(abs(abs(capacity) - figure) <= TOLERANCE * figure for figure in figures):
                yield f"step {step.id} gives {workload} {capacity:.6g} req/s; the plans say {figures or 'nothing'}"


def _wrong_chains(steps: Sequence[TransitionStep]) -> Iterator[str]:
    """
    Requests go to what has started, and what stops has been drained after they went elsewhere.

    Each step waits for one of its own: were two redirections to wait for one start, its capacity would count twice.
    """
    followed: set[int] = set()
    for step in steps:
        yield from _wrong_change(step)
        link = _links_of(step)
        if link is None:
            continue
        own = [
            other
            for other in step.after
            if other not in followed
            and _place(steps[other]) == _place(step)
            and steps[other].kind == link.kind
            and not _gains(steps[other])
        ]
        if not own:
            yield f"step {step.id} {link.wrong}"
        followed.update(own[:1])


@dataclass(frozen=True)
class _Link:
    kind: StepKind
    """Of the step that is waited for."""
    wrong: str
    """What is said where there is none."""


def _links_of(step: TransitionStep) -> _Link | None:
    """Returns what a step waits for of its own partition; None: nothing."""
    if step.kind == "redirect" and _gains(step):
        return _Link("start", f"sends requests to {step.gpu} before anything started there")
    if step.kind == "drain":
        return _Link("redirect", f"drains {step.gpu} while requests are sent there")
    if step.kind == "stop":
        return _Link("drain", f"stops {step.gpu} before it is drained")
    return None


def _place(step: TransitionStep) -> tuple[object, ...]:
    return step.gpu, step.mig_profile, step.start, step.sm_percent, step.cores, step.workloads


def _gains(step: TransitionStep) -> bool:
    return any(capacity > 0 for capacity in (step.capacity_rps or {}).values())


def _wrong_change(step: TransitionStep) -> Iterator[str]:
    """A redirection says what each service gains, or what each loses; no other step changes a capacity."""
    stated = step.capacity_rps or {}
    if step.kind != "redirect" and stated:
        yield f"step {step.id} states capacities and redirects nothing"
    if step.kind == "redirect" and set(stated) != set(step.workloads):
        yield f"step {step.id} redirects {step.workloads} and states the capacity of {tuple(stated)}"
    if _gains(step) and min(stated.values()) < 0:
        yield f"step {step.id} sends requests to {step.gpu} and away from there at once"


def _figures(plan: Plan) -> dict[str, tuple[float, float]]:
    """Returns rate and capacity of each service, requests/s."""
    rate: defaultdict[str, float] = defaultdict(float)
    capacity: defaultdict[str, float] = defaultdict(float)
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            for served in partition.serves:
                rate[served.workload] += served.rate_rps
                capacity[served.workload] += served.carries_rps
    return {workload: (rate[workload], capacity[workload]) for workload in rate}
