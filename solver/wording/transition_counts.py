"""A transition in one line, as infrastructure tools say theirs: how much comes, changes in place, and goes."""

from collections.abc import Iterable, Sequence
from typing import Literal

from ..model.transition import Transition, TransitionStep
from ..model.words import counted

Place = tuple[str, str | None, int | None, tuple[str, ...]]
"""A partition of one GPU: its MIG profile and where it starts, or, where it is no MIG instance, its services."""


Fate = Literal["create", "change", "destroy"]


def counts_in_words(transition: Transition) -> str:
    """
    Returns how many partitions are created, changed and destroyed, and whether every service keeps its rate.

    A partition is changed if it is there before and after, at the same place of the same GPU (under MPS: with the same
    services on the same GPU), and what runs in it was stopped and started anew, or if it is given other cores of its
    CPU while it runs. Partitions that only bridge the transition do not count.
    """
    fates = [_fate(is_mig=place[1] is not None, steps=steps) for place, steps in _by_place(transition.steps).items()]
    create, change, destroy = (fates.count(fate) for fate in ("create", "change", "destroy"))
    change += transition.repinned
    short = len(transition.shortfalls)
    rates = f"{counted(short, 'service')} below its rate for a while" if short == 1 else "no service below its rate"
    if short > 1:
        rates = f"{counted(short, 'service')} below their rates for a while"
    if transition.by_set:
        rates += f", {counted(len(transition.by_set), 'service')} without a promise meanwhile"
    return f"{counted(create, 'partition')} to create, {change:,} to change, {destroy:,} to destroy; {rates}."


def _by_place(steps: Iterable[TransitionStep]) -> dict[Place, list[TransitionStep]]:
    """Returns the steps by which partitions and what runs in them come and go, in their order."""
    found: dict[Place, list[TransitionStep]] = {}
    for step in steps:
        if step.kind in ("create", "start", "destroy", "stop"):
            place = (step.gpu, step.mig_profile, step.start, () if step.mig_profile else step.workloads)
            found.setdefault(place, []).append(step)
    return found


def _fate(*, is_mig: bool, steps: Sequence[TransitionStep]) -> Fate | None:
    """
    Returns what becomes of a partition in all; None: nothing that stays.

    It was there before if it goes before it comes, and is there afterwards if it comes last. A MIG instance comes and
    goes by itself, other partitions with what runs in them.
    """
    comes, goes = ("create", "destroy") if is_mig else ("start", "stop")
    moves = [step.kind for step in steps if step.kind in (comes, goes)]
    before, after = (moves[0] == goes, moves[-1] == comes) if moves else (True, True)
    if before and after:
        return None if all(step.temporary for step in steps) else "change"
    return "create" if after else "destroy" if before else None
