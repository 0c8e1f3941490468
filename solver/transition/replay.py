"""
Independent verification of a transition: every moment that its graph allows, not only the schedule's.

A moment is a cut of the graph: a set of steps that have begun, with everything that they wait for completed. Nothing
here looks at the order that the steps were made from, or at how they were chosen.

Capacity: at the worst cut for a service, requests were redirected away from some partitions C, and only the partitions
have begun to serve that those redirections wait for. The cut that leaves least is a closure of greatest weight
(redirections away weigh their capacity, redirections to weigh minus theirs), found as a minimum cut of a network
(Picard, Management Science 22 (1976): Maximal closure of a graph and applications to combinatorial problems).

Room: an instance exists from the beginning of the step that creates it to the end of the one that destroys it. A set
of instances exists together in some cut if no one of them is destroyed before another is created, which can be read off
in pairs; so the layouts that can occur are the maximal cliques, and what is allowed is closed under leaving out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from ..geometry import Placement, PlacementRules, fits, placement_rules
from ..model.catalogue import load_catalogue
from ..model.plan import Plan
from ..model.problem import Sharing
from ..model.transition import Transition, TransitionStep

TOLERANCE = 1e-6
"""Relative, for sums of capacities, and percent for sums of shares."""


def replay(old: Plan, assigned: Plan, transition: Transition) -> list[str]:
    """
    Returns everything that is wrong with a transition; an empty list: it holds at every cut of its graph.

    Parameters
    ----------
    assigned
        The new plan with the GPUs and places that the transition gives it.
    """
    found = list(_wrong_graph(transition.steps))
    if found:
        return found
    earlier = ancestors(transition.steps)
    lifetimes = _lifetimes(old, transition, found)
    for gpu, of_gpu in lifetimes.items():
        found += _wrong_room(gpu, transition, of_gpu, earlier)
    found += _wrong_modes(old, transition, lifetimes, earlier)
    found += _wrong_end(assigned, transition, lifetimes)
    found += _wrong_capacity(old, assigned, transition, earlier)
    return found


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
    if not losses:
        return start
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
        if other != step and earlier[step] >> other & 1
    ]
    row, column, capacity = zip(*edges, strict=True)
    graph = csr_array(
        (np.array(capacity, dtype=np.int32), (np.array(row), np.array(column))), shape=(sink + 1, sink + 1)
    )
    flow = maximum_flow(graph.tocsr(), 0, sink).flow_value
    return (sum(edge[2] for edge in edges if edge[0] == 0) - int(flow)) / scale


_Place = tuple[str | None, int | None, float | None]
"""MIG profile and start, or share."""


@dataclass(frozen=True)
class _Lifetime:
    """Something that exists from the beginning of one step to the end of another."""

    place: _Place
    begin: int | None
    """None: it was there before."""
    end: int | None
    """None: it stays."""
    workloads: tuple[str, ...]
    is_instance: bool
    """Whether it is a MIG instance rather than what runs on a partition."""


def _wrong_graph(steps: Sequence[TransitionStep]) -> Iterator[str]:
    """Steps are numbered in their order and wait for earlier ones only, and begin after those have ended."""
    for at, step in enumerate(steps):
        if step.id != at:
            yield f"steps[{at}].id is {step.id}"
        if any(not 0 <= other < at for other in step.after):
            yield f"step {at} waits for {step.after}, which are not all earlier"
        elif any(step.starts_s < steps[other].ends_s - TOLERANCE for other in step.after):
            yield f"step {at} begins before a step that it waits for has ended"


def _lifetimes(old: Plan, transition: Transition, found: list[str]) -> dict[str, list[_Lifetime]]:
    """Returns what exists on each GPU and when; notes steps that have nothing to act on."""
    names = {gpu.old_id: gpu.name for gpu in transition.gpus if gpu.old_id is not None}
    instances: defaultdict[str, list[_Lifetime]] = defaultdict(list)
    open_instances: dict[tuple[str, _Place], int | None] = {}
    open_tenants: defaultdict[tuple[str, _Place], list[tuple[int | None, tuple[str, ...]]]] = defaultdict(list)
    for gpu in old.gpus:
        name = names[gpu.id]
        for partition in gpu.partitions:
            place = (partition.mig_profile, partition.start, partition.sm_percent)
            if partition.mig_profile is not None:
                open_instances[name, place] = None
            if partition.serves:
                open_tenants[name, place].append((None, tuple(sorted(one.workload for one in partition.serves))))
    for step in transition.steps:
        place = (step.mig_profile, step.start, step.sm_percent)
        key = (step.gpu, place)
        if step.kind == "create":
            if key in open_instances:
                found.append(f"step {step.id} creates {place} on {step.gpu}, which is there")
            open_instances[key] = step.id
        elif step.kind == "destroy":
            if key not in open_instances:
                found.append(f"step {step.id} destroys {place} on {step.gpu}, which is not there")
                continue
            instances[step.gpu].append(_Lifetime(place, open_instances.pop(key), step.id, (), True))
        elif step.kind == "start":
            open_tenants[key].append((step.id, step.workloads))
        elif step.kind == "stop":
            running = [one for one in open_tenants[key] if one[1] == step.workloads]
            if not running:
                found.append(f"step {step.id} stops what does not run: {step.workloads} on {step.gpu}")
                continue
            open_tenants[key].remove(running[0])
            instances[step.gpu].append(_Lifetime(place, running[0][0], step.id, step.workloads, False))
    for (name, place), begin in open_instances.items():
        instances[name].append(_Lifetime(place, begin, None, (), True))
    for (name, place), tenants in open_tenants.items():
        instances[name] += [_Lifetime(place, begin, None, workloads, False) for begin, workloads in tenants]
    return dict(instances)


def _together(one: _Lifetime, other: _Lifetime, earlier: Sequence[int]) -> bool:
    """Tells whether two things exist at once in some cut."""
    return not (_before(one.end, other.begin, earlier) or _before(other.end, one.begin, earlier))


def _before(end: int | None, begin: int | None, earlier: Sequence[int]) -> bool:
    return end is not None and begin is not None and bool(earlier[begin] >> end & 1)


def _wrong_room(
    name: str, transition: Transition, lifetimes: Sequence[_Lifetime], earlier: Sequence[int]
) -> Iterator[str]:
    """Whatever can exist at once on a GPU fits, and every tenant has its instance while it runs."""
    gpu = next(gpu.gpu for gpu in transition.gpus if gpu.name == name)
    instances = [one for one in lifetimes if one.is_instance]
    tenants = [one for one in lifetimes if not one.is_instance]
    geometry = load_catalogue()[gpu].mig
    if instances and geometry is not None:
        rules = placement_rules(geometry)
        for clique in _cliques(instances, earlier):
            if not _fit_together(rules, clique):
                yield f"{name}: {[one.place[:2] for one in clique]} can exist at once and do not fit"
    shares = [one for one in tenants if one.place[0] is None]
    for clique in _cliques(shares, earlier):
        percent = [one.place[2] for one in clique]
        alone = any(one is None for one in percent)
        if (alone and len(clique) > 1) or sum(one or 0.0 for one in percent) > 100 + TOLERANCE:
            yield f"{name}: {[one.workloads for one in clique]} can run at once and do not fit"
    for one in tenants:
        if one.place[0] is None:
            continue
        houses = [
            home
            for home in instances
            if home.place == one.place
            and (home.begin is None or _before(home.begin, one.begin, earlier))
            and (home.end is None or _before(one.end, home.end, earlier))
        ]
        if not houses:
            yield f"{name}: {one.workloads} runs on {one.place[:2]} without the instance"
        for other in tenants:
            if other is not one and other.place == one.place and _together(one, other, earlier):
                yield f"{name}: {one.workloads} and {other.workloads} can run on {one.place[:2]} at once"


def _fit_together(rules: PlacementRules, clique: Iterable[_Lifetime]) -> bool:
    layout: tuple[Placement, ...] = ()
    for one in clique:
        added = Placement(one.place[1] or 0, one.place[0] or "")
        if not fits(rules, layout, added):
            return False
        layout = tuple(sorted((*layout, added)))
    return True


def _cliques(lifetimes: Sequence[_Lifetime], earlier: Sequence[int]) -> Iterator[list[_Lifetime]]:
    """Yields every largest set of things that exist at once (Bron and Kerbosch, CACM 16 (1973), with pivots)."""
    near = {
        i: {j for j in range(len(lifetimes)) if j != i and _together(lifetimes[i], lifetimes[j], earlier)}
        for i in range(len(lifetimes))
    }

    def grown(clique: set[int], candidates: set[int], done: set[int]) -> Iterator[list[_Lifetime]]:
        if not candidates and not done:
            if clique:
                yield [lifetimes[i] for i in clique]
            return
        pivot = max(candidates | done, key=lambda i: len(near[i] & candidates))
        for i in list(candidates - near[pivot]):
            yield from grown(clique | {i}, candidates & near[i], done & near[i])
            candidates.remove(i)
            done.add(i)

    yield from grown(set(), set(near), set())


def _wrong_modes(
    old: Plan, transition: Transition, lifetimes: Mapping[str, Sequence[_Lifetime]], earlier: Sequence[int]
) -> Iterator[str]:
    """A GPU changes its mode while it is empty, and whatever runs on it runs in the right mode."""
    sharing: dict[str, Sharing] = {gpu.id: gpu.sharing for gpu in old.gpus}
    changes: defaultdict[str, list[TransitionStep]] = defaultdict(list)
    for step in transition.steps:
        if step.kind == "change_mode":
            changes[step.gpu].append(step)
    for gpu in transition.gpus:
        initial = sharing.get(gpu.old_id or "", "exclusive")
        for one in lifetimes.get(gpu.name, ()):
            modes = [
                change.mode
                for change in changes[gpu.name]
                if one.begin is not None and earlier[one.begin] >> change.id & 1
            ]
            mode = modes[-1] if modes else initial
            right = "mig" if one.place[0] is not None else "exclusive" if one.place[2] is None else "mps"
            if mode != right:
                yield f"{gpu.name}: {one.place} exists while the GPU is in mode {mode}"
            for change in changes[gpu.name]:
                after = one.begin is not None and earlier[one.begin] >> change.id & 1
                if not after and not (one.end is not None and earlier[change.id] >> one.end & 1):
                    yield f"{gpu.name}: step {change.id} changes the mode while {one.place} can exist"


def _wrong_end(assigned: Plan, transition: Transition, lifetimes: Mapping[str, Sequence[_Lifetime]]) -> Iterator[str]:
    """What is there in the end is the new plan, GPU by GPU, and nothing else."""
    names = {gpu.assigned_id: gpu.name for gpu in transition.gpus if gpu.assigned_id is not None}
    if set(names) != {gpu.id for gpu in assigned.gpus}:
        yield f"the transition assigns {sorted(names)}, the new plan has {sorted(gpu.id for gpu in assigned.gpus)}"
        return
    assigned_to: dict[str, Counter[object]] = {}
    for gpu in assigned.gpus:
        name = names[gpu.id]
        wanted: Counter[object] = Counter()
        for partition in gpu.partitions:
            place = (partition.mig_profile, partition.start, partition.sm_percent)
            if partition.mig_profile is not None:
                wanted[place, ()] += 1
            if partition.serves:
                wanted[place, tuple(sorted(one.workload for one in partition.serves))] += 1
        assigned_to[name] = wanted
    for gpu_name in {*lifetimes, *assigned_to}:
        last = Counter[object]((one.place, one.workloads) for one in lifetimes.get(gpu_name, ()) if one.end is None)
        if last != assigned_to.get(gpu_name, Counter()):
            yield f"{gpu_name}: ends with {dict(last)}, the new plan has {dict(assigned_to.get(gpu_name, {}))}"


def _wrong_capacity(old: Plan, assigned: Plan, transition: Transition, earlier: Sequence[int]) -> Iterator[str]:
    """No service has less than the lower of its two rates at any cut, but by what the transition admits."""
    admitted = {one.workload: one.missing_rps for one in transition.shortfalls}
    gains: defaultdict[str, dict[int, float]] = defaultdict(dict)
    losses: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for step in transition.steps:
        for workload, capacity in (step.capacity_rps or {}).items():
            (gains if capacity > 0 else losses)[workload][step.id] = abs(capacity)
        yield from _wrong_chain(step, transition.steps)
    before, after = _figures(old), _figures(assigned)
    for workload in sorted(set(before) & set(after)):
        required = min(*before[workload], *after[workload])
        least = least_capacity(before[workload][1], gains[workload], losses[workload], earlier)
        missing = required - least
        if missing > admitted.get(workload, 0.0) + TOLERANCE * required:
            yield f"{workload} can fall to {least:.6g} req/s; it needs {required:.6g}"


def _wrong_chain(step: TransitionStep, steps: Sequence[TransitionStep]) -> Iterator[str]:
    """Requests go to what has started, and what stops has been drained after they went elsewhere."""

    def follows(kind: str) -> bool:
        return any(
            steps[other].kind == kind
            and (steps[other].gpu, steps[other].mig_profile, steps[other].start, steps[other].workloads)
            == (step.gpu, step.mig_profile, step.start, step.workloads)
            for other in step.after
        )

    if step.kind == "redirect" and step.capacity_rps and min(step.capacity_rps.values()) > 0 and not follows("start"):
        yield f"step {step.id} sends requests to {step.gpu} before anything started there"
    if step.kind == "drain" and not follows("redirect"):
        yield f"step {step.id} drains {step.gpu} while requests are sent there"
    if step.kind == "stop" and not follows("drain"):
        yield f"step {step.id} stops {step.gpu} before it is drained"


def _figures(plan: Plan) -> dict[str, tuple[float, float]]:
    """Returns rate and capacity of each service, requests/s."""
    rate: defaultdict[str, float] = defaultdict(float)
    capacity: defaultdict[str, float] = defaultdict(float)
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            for served in partition.serves:
                rate[served.workload] += served.rate_rps
                capacity[served.workload] += served.capacity_rps
    return {workload: (rate[workload], capacity[workload]) for workload in rate}
