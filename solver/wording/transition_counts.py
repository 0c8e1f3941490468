"""A transition in one line, as infrastructure tools say theirs: how much comes, changes in place, and goes."""

from collections.abc import Iterable

from ..model.transition import Transition, TransitionStep
from ..model.words import counted

Place = tuple[str, str | None, int | None, tuple[str, ...]]
"""A partition of one GPU: its MIG profile and where it starts, or, where it is no MIG instance, its services."""


def counts_in_words(transition: Transition) -> str:
    """
    Returns how many partitions are created, changed and destroyed, and whether every service keeps its rate.

    A partition is changed if it is there before and after, at the same place of the same GPU (under MPS: with the same
    services on the same GPU), and what runs in it was stopped and started anew. Partitions that only bridge the
    transition do not count.
    """
    comes = _places(transition.steps, ("create", "start"))
    goes = _places(transition.steps, ("destroy", "stop"))
    create, change, destroy = len(comes - goes), len(comes & goes), len(goes - comes)
    short = len(transition.shortfalls)
    rates = f"{counted(short, 'service')} below its rate for a while" if short == 1 else "no service below its rate"
    if short > 1:
        rates = f"{counted(short, 'service')} below their rates for a while"
    return f"{create:,} to create, {change:,} to change, {destroy:,} to destroy; {rates}."


def _places(steps: Iterable[TransitionStep], kinds: tuple[str, ...]) -> set[Place]:
    return {
        (step.gpu, step.mig_profile, step.start, () if step.mig_profile else step.workloads)
        for step in steps
        if step.kind in kinds and not step.temporary
    }
