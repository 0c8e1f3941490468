"""
Independent verification of a transition: every moment that its graph allows, not only the schedule's.

A moment is a cut of the graph: a set of steps that have begun, with everything that they wait for completed. Nothing
here looks at the order that the steps were made from, or at how they were chosen. What is checked: no service has less
than it needs (replay_capacity.py), what can exist at once on a GPU fits there (replay_room.py), no core of a CPU is
held twice (replay_cores.py), the end is the new plan, and what is never stopped serves as before (replay_contents.py).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ..model.catalogue import load_cpus
from ..model.plan import Plan
from ..model.transition import Transition, TransitionStep
from .replay_capacity import ancestors, wrong_capacity
from .replay_contents import wrong_contents
from .replay_cores import wrong_cores
from .replay_lifetimes import Lifetime, lifetimes_of
from .replay_room import wrong_modes, wrong_room

LATE = 1e-6
"""Seconds by which a step may begin before another's end by rounding."""


def replay(old: Plan, assigned: Plan, transition: Transition) -> list[str]:
    """
    Returns everything that is wrong with a transition; an empty list: it holds at every cut of its graph.

    Parameters
    ----------
    assigned
        The new plan with the GPUs and places that the transition gives it.
    """
    found = [*_wrong_graph(transition.steps), *_wrong_gpus(old, transition)]
    if found:
        return found
    earlier = ancestors(transition.steps)
    lifetimes = lifetimes_of(old, transition, found)
    types = {gpu.name: gpu.gpu for gpu in transition.gpus}
    for gpu, of_gpu in lifetimes.items():
        cpu = load_cpus().get(types[gpu])
        wrong = wrong_cores(gpu, cpu, of_gpu, earlier) if cpu else wrong_room(gpu, transition, of_gpu, earlier)
        found += wrong
    found += wrong_modes(old, transition, lifetimes, earlier)
    found += _wrong_end(assigned, transition, lifetimes)
    found += wrong_contents(old, assigned, transition, lifetimes)
    found += wrong_capacity(old, assigned, transition, earlier)
    return found


def _wrong_graph(steps: Sequence[TransitionStep]) -> Iterator[str]:
    """Steps are numbered in their order and wait for earlier ones only, and begin after those have ended."""
    for at, step in enumerate(steps):
        if step.id != at:
            yield f"steps[{at}].id is {step.id}"
        if any(not 0 <= other < at for other in step.after):
            yield f"step {at} waits for {step.after}, which are not all earlier"
        elif any(step.starts_s < steps[other].ends_s - LATE for other in step.after):
            yield f"step {at} begins before a step that it waits for has ended"


def _wrong_gpus(old: Plan, transition: Transition) -> Iterator[str]:
    """Every GPU on which something runs or is to be done is one of the transition's."""
    known, names = {gpu.old_id for gpu in transition.gpus}, {gpu.name for gpu in transition.gpus}
    for gpu in old.gpus:
        if gpu.partitions and gpu.id not in known:
            yield f"the transition does not say what becomes of {gpu.id}"
    for step in transition.steps:
        if step.gpu not in names:
            yield f"step {step.id} is on {step.gpu}, which is none of the transition's GPUs"


def _wrong_end(assigned: Plan, transition: Transition, lifetimes: Mapping[str, Sequence[Lifetime]]) -> Iterator[str]:
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
                wanted[place, None, ()] += 1
            if partition.serves:
                wanted[place, partition.cores, tuple(sorted(one.workload for one in partition.serves))] += 1
        assigned_to[name] = wanted
    for gpu_name in {*lifetimes, *assigned_to}:
        ends = [one for one in lifetimes.get(gpu_name, ()) if one.end is None]
        last = Counter[object]((one.place, one.cores, one.workloads) for one in ends)
        if last != assigned_to.get(gpu_name, Counter()):
            yield f"{gpu_name}: ends with {dict(last)}, the new plan has {dict(assigned_to.get(gpu_name, {}))}"
