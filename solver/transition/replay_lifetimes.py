"""
Replay, what exists when: instances and what runs, from the old plan and through the steps.

An instance exists from the beginning of the step that creates it to the end of the one that destroys it; what runs on a
partition from the beginning of its start to the end of its stop. What moves to other cores has both places during that
step: it ends at the one with the step that it begins with at the other.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ..model.plan import Partition, Plan
from ..model.transition import Transition, TransitionStep

Place = tuple[str | None, int | None, float | None]
"""MIG profile and start, or share; of cores the first of them as start."""

_Home = tuple[str, Place, int | None]
"""A GPU or CPU by name, a place there, and how many cores."""


@dataclass(frozen=True)
class Lifetime:
    """Something that exists from the beginning of one step to the end of another."""

    place: Place
    begin: int | None
    """None: it was there before."""
    end: int | None
    """None: it stays."""
    workloads: tuple[str, ...]
    is_instance: bool
    """Whether it is a MIG instance rather than what runs on a partition."""
    cores: int | None = None
    """Cores of a CPU, from the start on; None: it is on a GPU."""


def lifetimes_of(old: Plan, transition: Transition, found: list[str]) -> dict[str, list[Lifetime]]:
    """Returns what exists on each GPU and when; notes steps that have nothing to act on."""
    names = {gpu.old_id: gpu.name for gpu in transition.gpus}
    begun = _Begun(found)
    for gpu in old.gpus:
        for partition in gpu.partitions:
            begun.was_there(names[gpu.id], partition)
    for step in transition.steps:
        begun.carry_out(step)
    return begun.all_lifetimes()


class _Begun:
    """What has begun on each GPU and has not ended, while steps are gone through; and what has ended."""

    def __init__(self, found: list[str]) -> None:
        self._found = found
        """Notes on steps that have nothing to act on."""
        self._ended: defaultdict[str, list[Lifetime]] = defaultdict(list)
        self._instances: dict[tuple[str, Place], int | None] = {}
        self._tenants: defaultdict[_Home, list[tuple[int | None, tuple[str, ...]]]] = defaultdict(list)

    def was_there(self, name: str, partition: Partition) -> None:
        """Begins with a partition of the old plan."""
        place = (partition.mig_profile, partition.start, partition.sm_percent)
        if partition.mig_profile is not None:
            self._instances[name, place] = None
        if partition.serves:
            workloads = tuple(sorted(one.workload for one in partition.serves))
            self._tenants[name, place, partition.cores].append((None, workloads))

    def carry_out(self, step: TransitionStep) -> None:
        """Begins or ends what a step does; other steps do nothing here."""
        place = (step.mig_profile, step.start, step.sm_percent)
        if step.kind == "create":
            if (step.gpu, place) in self._instances:
                self._found.append(f"step {step.id} creates {place} on {step.gpu}, which is there")
            self._instances[step.gpu, place] = step.id
        elif step.kind == "destroy":
            self._destroy(step, place)
        elif step.kind == "start":
            self._tenants[step.gpu, place, step.cores].append((step.id, step.workloads))
        elif step.kind == "stop":
            self._end(step, place)
        elif step.kind == "repin" and self._end(step, (None, step.from_start, None)):
            self._tenants[step.gpu, place, step.cores].append((step.id, step.workloads))

    def _destroy(self, step: TransitionStep, place: Place) -> None:
        if (step.gpu, place) not in self._instances:
            self._found.append(f"step {step.id} destroys {place} on {step.gpu}, which is not there")
            return
        begin = self._instances.pop((step.gpu, place))
        self._ended[step.gpu].append(Lifetime(place, begin, step.id, (), True))

    def _end(self, step: TransitionStep, place: Place) -> bool:
        """Ends what runs at a place; tells whether anything did."""
        tenants = self._tenants[step.gpu, place, step.cores]
        running = [one for one in tenants if one[1] == step.workloads]
        if not running:
            what = "moves" if step.kind == "repin" else "stops"
            self._found.append(f"step {step.id} {what} what does not run: {step.workloads} on {step.gpu}")
            return False
        tenants.remove(running[0])
        self._ended[step.gpu].append(Lifetime(place, running[0][0], step.id, step.workloads, False, step.cores))
        return True

    def all_lifetimes(self) -> dict[str, list[Lifetime]]:
        """Returns what has ended, and what stays."""
        found = defaultdict(list, {name: list(ended) for name, ended in self._ended.items()})
        for (name, place), begin in self._instances.items():
            found[name].append(Lifetime(place, begin, None, (), True))
        for (name, place, cores), tenants in self._tenants.items():
            found[name] += [Lifetime(place, begin, None, workloads, False, cores) for begin, workloads in tenants]
        return dict(found)


def together(one: Lifetime, other: Lifetime, earlier: Sequence[int]) -> bool:
    """Tells whether two things exist at once in some cut."""
    return not (before(one.end, other.begin, earlier) or before(other.end, one.begin, earlier))


def before(end: int | None, begin: int | None, earlier: Sequence[int]) -> bool:
    return end is not None and begin is not None and bool(earlier[begin] >> end & 1)
