"""What may go wrong on the way from one plan to another, the worst first, in words for whoever approves it."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isclose
from typing import Literal

from ..model.base import ServiceKey
from ..model.naming import SERVICES
from ..model.plan import Plan
from ..model.transition import Transition
from ..wording.transition_text import by_set_in_words, duration, few_names, shortfall_in_words
from .tenancies import Tenancy, capacity_rps, required_rps, tenancy
from .timing import gains_first

Level = Literal["high", "medium", "low"]

BUSY = 0.9
"""Load at which a service has little left for bursts."""


@dataclass(frozen=True)
class Risk:
    """One thing that may go wrong."""

    level: Level
    """high: requests are lost or a GPU is reset; medium: little is left for trouble; low: good to know."""
    what: str
    """In two or three words."""
    sentence: str
    """With SERVICES where services are named (model/naming.py)."""
    workloads: tuple[ServiceKey, ...] = ()
    gpus: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What may go wrong, in words; of many services the first."""
        return self.sentence.replace(SERVICES, few_names(self.workloads))


@dataclass(frozen=True)
class BusiestMoment:
    """When a service has the least to spare."""

    load: float
    """What it requires, by the capacity that receives requests; above 1: it falls short."""
    at_s: float
    """Estimated, seconds from the beginning of the transition."""


def risks(transition: Transition, old: Plan, new: Plan) -> list[Risk]:
    """
    Returns what may go wrong, the worst first.

    Parameters
    ----------
    old, new
        The plans that the transition is between.
    """
    return [
        *_broken_promises(new),
        *(
            Risk("high", "below its rate", shortfall_in_words(short, SERVICES), (short.workload,))
            for short in sorted(transition.shortfalls, key=lambda short: -short.lost_requests)
        ),
        *_by_set(transition),
        *_mode_changes(transition, old),
        *_busy(transition, old, new),
        *_moved_whole(transition, old),
        *_repins(transition),
        *_bridges(transition),
    ]


def busiest_moments(transition: Transition, old: Plan, new: Plan) -> dict[str, BusiestMoment]:
    """
    Returns, for each service of which capacity is taken away, the moment when the rest is loaded most.

    As in `Shortfall`, a service requires the lower of its rates in the two plans; the times are estimates.
    """
    before, after = _tenancies(old), _tenancies(new)
    required, capacity = required_rps(before, after, old, new), capacity_rps(before)
    changes: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for step in transition.steps:
        for workload, change in (step.capacity_rps or {}).items():
            # What comes counts when its redirection has ended, what goes no longer when its own begins.
            changes[workload].append((step.ends_s if change > 0 else step.starts_s, change))
    found = {}
    for workload, of_workload in changes.items():
        need = required.get(workload, 0.0)
        if not need:
            continue
        now, worst = capacity[workload], None
        for at_s, change in gains_first(of_workload):
            now += change
            # A capacity that is gone but for rounding is gone.
            load = need / now if now > 1e-9 * need else inf
            if change < 0 and (worst is None or load > worst.load):
                worst = BusiestMoment(load, at_s)
        if worst is not None:
            found[workload] = worst
    return found


def _broken_promises(new: Plan) -> Iterator[Risk]:
    missed = tuple(dict.fromkeys(one.workload for one in new.violations if one.workload is not None))
    if new.violations:
        names = SERVICES if missed else f"{len(new.violations)} limits of GPUs"
        yield Risk("high", "misses its SLO", f"the next plan itself breaks promises: {names}", missed)
    if new.unserved:
        left = tuple(item.workload for item in new.unserved)
        yield Risk("high", "not served", f"the next plan has no place for {SERVICES}", left)


def _by_set(transition: Transition) -> Iterator[Risk]:
    if transition.by_set:
        yield Risk("high", "not promised", by_set_in_words(transition, SERVICES), transition.by_set)


def _mode_changes(transition: Transition, old: Plan) -> Iterator[Risk]:
    """Names GPUs whose mode changes; that of one on which nothing runs today disturbs nobody, even if it is reset."""
    changes = [step for step in transition.steps if step.kind == "change_mode"]
    busy = {gpu.id for gpu in old.gpus if any(partition.serves for partition in gpu.partitions)}
    empty = {gpu.name for gpu in transition.gpus if gpu.old_id not in busy}
    idle = tuple(dict.fromkeys(step.gpu for step in changes if step.gpu in empty))
    changes = [step for step in changes if step.gpu not in empty]
    reset = tuple(dict.fromkeys(step.gpu for step in changes if step.needs_reset))
    if reset:
        noun, whose, it = ("GPU is", "its", "it") if len(reset) == 1 else ("GPUs are", "their", "them")
        text = f"{len(reset)} {noun} reset to change {whose} mode, with nothing on {it} meanwhile: {few_names(reset)}"
        yield Risk("high", "GPU reset", text, gpus=reset)
    others = tuple(dict.fromkeys(step.gpu for step in changes if not step.needs_reset))
    if others:
        noun = "GPU changes" if len(others) == 1 else "GPUs change"
        text = f"{len(others)} {noun} mode, without a reset, when empty: {few_names(others)}"
        yield Risk("medium", "mode change", text, gpus=others)
    if idle:
        noun, them = ("GPU", "it") if len(idle) == 1 else ("GPUs", "them")
        text = f"the mode of {len(idle)} idle {noun} is changed, with nothing running on {them}: {few_names(idle)}"
        yield Risk("low", "idle GPU prepared", text, gpus=idle)


def _busy(transition: Transition, old: Plan, new: Plan) -> Iterator[Risk]:
    short = {one.workload for one in transition.shortfalls}
    moments = busiest_moments(transition, old, new)
    for workload, moment in sorted(moments.items(), key=lambda pair: -pair[1].load):
        if workload not in short and moment.load >= BUSY:
            left = f"what is left is loaded at {100 * min(moment.load, 1):.0f} % after {duration(moment.at_s)}"
            text = f"{SERVICES} is drained in part while busy: {left}"
            yield Risk("medium", "drained while busy", text, (workload,))


def _moved_whole(transition: Transition, old: Plan) -> Iterator[Risk]:
    """Names services of which nothing that runs now goes on running: their new partitions must be right at once."""
    running = capacity_rps(_tenancies(old))
    lost: defaultdict[str, float] = defaultdict(float)
    for step in transition.steps:
        if not step.temporary:
            for workload, change in (step.capacity_rps or {}).items():
                lost[workload] -= min(change, 0.0)
    disturbed = transition.disturbed.services
    whole = tuple(name for name in disturbed if isclose(lost[name], running[name], rel_tol=1e-6))
    if whole:
        noun = "service leaves" if len(whole) == 1 else "services leave"
        text = f"{len(whole)} {noun} every partition of today: {SERVICES}"
        yield Risk("low", "moved as a whole", text, whole)


def _repins(transition: Transition) -> Iterator[Risk]:
    moves = [step for step in transition.steps if step.kind == "repin"]
    if moves:
        names = tuple(dict.fromkeys(workload for step in moves for workload in step.workloads))
        noun = "partition gets" if len(moves) == 1 else "partitions get"
        text = f"{len(moves)} {noun} other cores while serving, with cold caches at first: {SERVICES}"
        yield Risk("low", "other cores", text, names, tuple(dict.fromkeys(step.gpu for step in moves)))


def _bridges(transition: Transition) -> Iterator[Risk]:
    if transition.temporary:
        on = tuple(dict.fromkeys(step.gpu for step in transition.steps if step.temporary))
        noun = "partition bridges" if transition.temporary == 1 else "partitions bridge"
        text = f"{transition.temporary} temporary {noun} the transition, on {few_names(on)}"
        yield Risk("low", "temporary partitions", text, gpus=on)


def _tenancies(plan: Plan) -> list[Tenancy]:
    return [tenancy(partition, gpu.sharing) for gpu in plan.gpus for partition in gpu.partitions]
