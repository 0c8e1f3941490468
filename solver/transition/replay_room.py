"""
Replay, the room: whatever can exist at once on a GPU fits there, in the mode that it is in.

A set of instances exists together in some cut if no one of them is destroyed before another is created, which can be
read off in pairs; so the layouts that can occur are the maximal cliques, and what is allowed is closed under leaving
out.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..model.catalogue import load_catalogue, load_cpus
from ..model.geometry import Placement, PlacementRules, fits, placement_rules
from ..model.plan import Plan
from ..model.problem import Sharing
from ..model.transition import Transition, TransitionStep
from .replay_lifetimes import Lifetime, before, together

TOLERANCE = 1e-6
"""Percent, for sums of shares."""


def wrong_room(
    name: str, transition: Transition, lifetimes: Sequence[Lifetime], earlier: Sequence[int]
) -> Iterator[str]:
    """Whatever can exist at once on a GPU fits, and every tenant has its instance while it runs."""
    gpu = next(gpu.gpu for gpu in transition.gpus if gpu.name == name)
    if any(one.cores is not None for one in lifetimes):
        yield f"{name}: {[one.place for one in lifetimes if one.cores is not None]} are cores on {gpu}, which is no CPU"
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
        if sum(100.0 if one.place[2] is None else one.place[2] for one in clique) > 100 + TOLERANCE:
            yield f"{name}: {[one.workloads for one in clique]} can run at once and do not fit"


def _wrong_houses(
    name: str, instances: Sequence[Lifetime], tenants: Sequence[Lifetime], earlier: Sequence[int]
) -> Iterator[str]:
    """What runs on an instance has it all the while, for itself."""
    for one in tenants:
        if not any(_houses(home, one, earlier) for home in instances):
            yield f"{name}: {one.workloads} runs on {one.place[:2]} without the instance"
        for other in tenants:
            if other is not one and other.place == one.place and together(one, other, earlier):
                yield f"{name}: {one.workloads} and {other.workloads} can run on {one.place[:2]} at once"


def _houses(home: Lifetime, tenant: Lifetime, earlier: Sequence[int]) -> bool:
    """Tells whether an instance is there from before a tenant starts until after it stops."""
    return (
        home.place == tenant.place
        and (home.begin is None or before(home.begin, tenant.begin, earlier))
        and (home.end is None or before(tenant.end, home.end, earlier))
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
        i: {j for j in range(len(lifetimes)) if j != i and together(lifetimes[i], lifetimes[j], earlier)}
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
        initial = "cores" if gpu.gpu in load_cpus() else sharing.get(gpu.old_id or "", "exclusive")
        for one in lifetimes.get(gpu.name, ()):
            modes = [
                change.mode
                for change in changes[gpu.name]
                if one.begin is not None and earlier[one.begin] >> change.id & 1
            ]
            mode = modes[-1] if modes else initial
            if mode != _mode_of(one):
                yield f"{gpu.name}: {one.place} exists while the GPU is in mode {mode}"
            for change in changes[gpu.name]:
                after = one.begin is not None and earlier[one.begin] >> change.id & 1
                if not after and not (one.end is not None and earlier[change.id] >> one.end & 1):
                    yield f"{gpu.name}: step {change.id} changes the mode while {one.place} can exist"


def _mode_of(one: Lifetime) -> Sharing:
    """Returns the mode in which something of this kind exists."""
    if one.cores is not None:
        return "cores"
    return "mig" if one.place[0] is not None else "exclusive" if one.place[2] is None else "mps"
