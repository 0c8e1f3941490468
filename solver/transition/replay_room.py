"""
Replay, the room: whatever can exist at once on a GPU fits there, in the mode that it is in.

An instance exists from the beginning of the step that creates it to the end of the one that destroys it. A set of
instances exists together in some cut if no one of them is destroyed before another is created, which can be read off in
pairs; so the layouts that can occur are the maximal cliques, and what is allowed is closed under leaving out.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..model.catalogue import load_catalogue
from ..model.geometry import Placement, PlacementRules, fits, placement_rules
from ..model.plan import Partition, Plan
from ..model.problem import Sharing
from ..model.transition import Transition, TransitionStep

TOLERANCE = 1e-6
"""Percent, for sums of shares."""


Place = tuple[str | None, int | None, float | None]
"""MIG profile and start, or share."""


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


def lifetimes_of(old: Plan, transition: Transition, found: list[str]) -> dict[str, list[Lifetime]]:
    """Returns what exists on each GPU and when; notes steps that have nothing to act on."""
    names = {gpu.old_id: gpu.name for gpu in transition.gpus if gpu.old_id is not None}
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
        self._tenants: defaultdict[tuple[str, Place], list[tuple[int | None, tuple[str, ...]]]] = defaultdict(list)

    def was_there(self, name: str, partition: Partition) -> None:
        """Begins with a partition of the old plan."""
        place = (partition.mig_profile, partition.start, partition.sm_percent)
        if partition.mig_profile is not None:
            self._instances[name, place] = None
        if partition.serves:
            self._tenants[name, place].append((None, tuple(sorted(one.workload for one in partition.serves))))

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
            self._tenants[step.gpu, place].append((step.id, step.workloads))
        elif step.kind == "stop":
            self._stop(step, place)

    def _destroy(self, step: TransitionStep, place: Place) -> None:
        if (step.gpu, place) not in self._instances:
            self._found.append(f"step {step.id} destroys {place} on {step.gpu}, which is not there")
            return
        begin = self._instances.pop((step.gpu, place))
        self._ended[step.gpu].append(Lifetime(place, begin, step.id, (), True))

    def _stop(self, step: TransitionStep, place: Place) -> None:
        tenants = self._tenants[step.gpu, place]
        running = [one for one in tenants if one[1] == step.workloads]
        if not running:
            self._found.append(f"step {step.id} stops what does not run: {step.workloads} on {step.gpu}")
            return
        tenants.remove(running[0])
        self._ended[step.gpu].append(Lifetime(place, running[0][0], step.id, step.workloads, False))

    def all_lifetimes(self) -> dict[str, list[Lifetime]]:
        """Returns what has ended, and what stays."""
        found = defaultdict(list, {name: list(ended) for name, ended in self._ended.items()})
        for (name, place), begin in self._instances.items():
            found[name].append(Lifetime(place, begin, None, (), True))
        for (name, place), tenants in self._tenants.items():
            found[name] += [Lifetime(place, begin, None, workloads, False) for begin, workloads in tenants]
        return dict(found)


def _together(one: Lifetime, other: Lifetime, earlier: Sequence[int]) -> bool:
    """Tells whether two things exist at once in some cut."""
    return not (_before(one.end, other.begin, earlier) or _before(other.end, one.begin, earlier))


def _before(end: int | None, begin: int | None, earlier: Sequence[int]) -> bool:
    return end is not None and begin is not None and bool(earlier[begin] >> end & 1)


def wrong_room(
    name: str, transition: Transition, lifetimes: Sequence[Lifetime], earlier: Sequence[int]
) -> Iterator[str]:
    """Whatever can exist at once on a GPU fits, and every tenant has its instance while it runs."""
    gpu = next(gpu.gpu for gpu in transition.gpus if gpu.name == name)
    instances = [one for one in lifetimes if one.is_instance]
    tenants = [one for one in lifetimes if not one.is_instance]
    geometry = load_catalogue()[gpu].mig
    if instances and geometry is None:
        yield f"{name}: {[one.place[:2] for one in instances]} are to exist on {gpu}, which has no MIG"
    elif geometry is not None:
        rules = placement_rules(geometry)
        for clique in _cliques(instances, earlier):
            if not _fit_together(rules, clique):
                yield f"{name}: {[one.place[:2] for one in clique]} can exist at once and do not fit"
    yield from _wrong_shares(name, [one for one in tenants if one.place[0] is None], earlier)
    yield from _wrong_houses(name, instances, [one for one in tenants if one.place[0] is not None], earlier)


def _wrong_shares(name: str, shares: Sequence[Lifetime], earlier: Sequence[int]) -> Iterator[str]:
    """Shares that can run at once are parts of one GPU; what has the whole GPU runs alone."""
    for clique in _cliques(shares, earlier):
        percent = [one.place[2] for one in clique]
        alone = any(one is None for one in percent)
        if (alone and len(clique) > 1) or sum(one or 0.0 for one in percent) > 100 + TOLERANCE:
            yield f"{name}: {[one.workloads for one in clique]} can run at once and do not fit"


def _wrong_houses(
    name: str, instances: Sequence[Lifetime], tenants: Sequence[Lifetime], earlier: Sequence[int]
) -> Iterator[str]:
    """What runs on an instance has it all the while, for itself."""
    for one in tenants:
        if not any(_houses(home, one, earlier) for home in instances):
            yield f"{name}: {one.workloads} runs on {one.place[:2]} without the instance"
        for other in tenants:
            if other is not one and other.place == one.place and _together(one, other, earlier):
                yield f"{name}: {one.workloads} and {other.workloads} can run on {one.place[:2]} at once"


def _houses(home: Lifetime, tenant: Lifetime, earlier: Sequence[int]) -> bool:
    """Tells whether an instance is there from before a tenant starts until after it stops."""
    return (
        home.place == tenant.place
        and (home.begin is None or _before(home.begin, tenant.begin, earlier))
        and (home.end is None or _before(tenant.end, home.end, earlier))
    )


def _fit_together(rules: PlacementRules, clique: Iterable[Lifetime]) -> bool:
    layout: tuple[Placement, ...] = ()
    for one in clique:
        added = Placement(one.place[1] or 0, one.place[0] or "")
        if added.profile not in rules.by_name or not fits(rules, layout, added):
            return False
        layout = tuple(sorted((*layout, added)))
    return True


def _cliques(lifetimes: Sequence[Lifetime], earlier: Sequence[int]) -> Iterator[list[Lifetime]]:
    """Yields every largest set of things that exist at once (Bron and Kerbosch, CACM 16 (1973), with pivots)."""
    near = {
        i: {j for j in range(len(lifetimes)) if j != i and _together(lifetimes[i], lifetimes[j], earlier)}
        for i in range(len(lifetimes))
    }

    def grown(clique: set[int], candidates: set[int], done: set[int]) -> Iterator[list[Lifetime]]:
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


def wrong_modes(
    old: Plan, transition: Transition, lifetimes: Mapping[str, Sequence[Lifetime]], earlier: Sequence[int]
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
