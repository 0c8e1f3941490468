"""
What would make a problem without a plan have one: each remedy is tried, and comes with the plan that it leads to.

A longer SLO and another GPU never take a plan away, so the least of a row of them is found by halving; and what is
offered was solved, so that it rests on no such argument.
"""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from sliceplan.solver.model.errors import SliceplanError
from sliceplan.solver.model.naming import SERVICES
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile

from .leaving_out import TRIAL_S, without_least
from .remedy import Remedy

FACTORS = tuple(round(1.01**step, 3) for step in range(1, 233))
"""By which SLOs are made longer: a hundredth at a time, up to ten times as long."""

DIGITS = 3
"""Of an SLO that is proposed."""

MOST_MS = 1e9
"""The longest SLO that a problem may state."""

WORTH_SAYING = 2.0
"""Times their latency that services are allowed at most where there was no time to find the least."""

ALL_S = 20.0
"""Of all of them; what is not tried by then is not offered."""


def remedies(
    problem: Problem, unserved: Sequence[str], profiles: Sequence[Profile], all_s: float = ALL_S
) -> tuple[Remedy, ...]:
    """
    Returns changes that give a problem a plan, by kind: longer SLOs, more GPUs, both, services left out.

    Parameters
    ----------
    unserved
        The services without a place in the plan that there is none of.
    all_s
        Seconds for all of them.
    """
    from sliceplan.solver import api

    end = time.monotonic() + all_s

    def tried(changed: Problem) -> Plan | None:
        if time.monotonic() > end:
            raise NoTimeLeftError
        try:
            limit = min(TRIAL_S, changed.settings.time_limit_s)
            plan = api.solve(changed, profiles=profiles, time_limit_s=limit)
        except SliceplanError:
            return None
        return plan if plan.gpus and not plan.unserved and not plan.violations else None

    larger = _in_time(lambda: _larger(problem, tried))  # two searches; longer SLOs may take all of the time
    found = [_patient(problem, unserved, tried), larger]
    if not any(found):
        found.append(_in_time(lambda: _both(problem, unserved, tried)))
    found.append(_without(problem, profiles, end))
    return tuple(one for one in found if one is not None)


class NoTimeLeftError(Exception):
    """There is none for a further trial."""


Trial = Callable[[Problem], Plan | None]
"""Returns a plan that holds, None: there is none; NoTimeLeftError as it says."""


def _in_time(find: Callable[[], Remedy | None]) -> Remedy | None:
    try:
        return find()
    except NoTimeLeftError:
        return None


def _both(problem: Problem, unserved: Sequence[str], tried: Trial) -> Remedy | None:
    """Returns longer SLOs together with more GPUs."""
    free = _without_counts(problem)
    patient = None if free == problem else _patient(free, unserved, tried)
    both = None if patient is None else _larger(patient.problem, tried, of=problem)
    return None if both is None or patient is None else _joined(patient, both)


def _patient(problem: Problem, names: Sequence[str], tried: Trial) -> Remedy | None:
    """Returns the least of the factors on the SLOs of some services with which there is a plan."""
    best, low, high = None, 0, len(FACTORS)
    while low < high:
        middle = (low + high) // 2 if best is not None else high - 1
        changed = _with_slos(problem, names, FACTORS[middle])
        try:
            plan = tried(changed)
        except NoTimeLeftError:
            return best if best is not None and FACTORS[high] <= WORTH_SAYING else None
        if plan is None:
            if best is None:
                return None
            low = middle + 1
        else:
            best, high = _allowing(problem, changed, plan, names, FACTORS[middle]), middle
    if best is not None and len(names) == 1:
        with suppress(NoTimeLeftError):
            return _in_tenths(problem, names[0], 1.0 if low == 0 else FACTORS[low - 1], best, tried)
    return best


def _in_tenths(problem: Problem, name: str, too_small: float, found: Remedy, tried: Trial) -> Remedy:
    """
    Returns the remedy with the least SLO in tenths of a ms, as reasons name them.

    It lies above a factor that is too small, by a hundredth at most, and below what was found; if any does.
    """
    was, now = (next(one.slo_ms for one in side.workloads if one.name == name) for side in (problem, found.problem))
    low, high = math.floor(10 * was * too_small) + 1, math.ceil(10 * now)
    while low < high:
        middle = (low + high) // 2
        factor = middle / 10 / was
        changed = _with_slos(problem, [name], factor)
        plan = tried(changed)
        if plan is None:
            low = middle + 1
        else:
            high, found = middle, _allowing(problem, changed, plan, [name], factor)
    return found


def _with_slos(problem: Problem, names: Sequence[str], factor: float) -> Problem:
    changed = []
    for one in problem.workloads:
        slo_ms = min(float(f"{one.slo_ms * factor:.{DIGITS}g}"), MOST_MS)
        changed.append(one.model_copy(update={"slo_ms": slo_ms}) if one.name in names else one)
    return problem.model_copy(update={"workloads": tuple(changed)})


def _allowing(old: Problem, new: Problem, plan: Plan, names: Sequence[str], factor: float) -> Remedy:
    if len(names) > 1:
        return Remedy(f"Allow {len(names):,} services {factor:g} times their latency", new, plan)
    was, now = (next(one.slo_ms for one in side.workloads if one.name == names[0]) for side in (old, new))
    return Remedy(f"Allow {SERVICES} {now:g} ms instead of {was:g} ms", new, plan, (names[0],))


def _larger(problem: Problem, tried: Trial, of: Problem | None = None) -> Remedy | None:
    """Returns as many more GPUs as the plan takes that is free to have any number; `of`: more than that problem has."""
    free = _without_counts(problem)
    start = of or problem
    if free == problem and of is None:
        return None
    plan = tried(free)
    if plan is None:
        return None
    used = {entry.gpu: sum(gpu.gpu == entry.gpu for gpu in plan.gpus) for entry in start.fleet}
    held = {entry.gpu: _count(start, index) for index, entry in enumerate(start.fleet)}
    if all(has is None or used[gpu] <= has for gpu, has in held.items()):  # there is a plan that was not found in time
        used = {gpu: count if (has := held[gpu]) is None else has + 1 for gpu, count in used.items()}
    more = {gpu: used[gpu] - has for gpu, has in held.items() if has is not None and used[gpu] > has}
    if not more:
        return None
    fleet = tuple(
        entry.model_copy(update={"count": used[entry.gpu], "nodes": None}) if entry.gpu in more else entry
        for entry in start.fleet
    )
    changed = start.model_copy(update={"fleet": fleet, "workloads": problem.workloads})
    again = tried(changed)
    if again is None:
        return None
    named = any(entry.gpu in more and entry.nodes is not None for entry in start.fleet)
    words = f"Add {' and '.join(f'{n:,} {gpu}' for gpu, n in more.items())}"
    return Remedy(f"{words}, not on named nodes any more" if named else words, changed, again)


def _without_counts(problem: Problem) -> Problem:
    """Returns the problem with as many GPUs as it takes, which fewest dollars tell, whatever is aimed for."""
    fleet = tuple(entry.model_copy(update={"count": None, "nodes": None}) for entry in problem.fleet)
    settings = problem.settings.model_copy(update={"objective": "cost", "capacity_weights": "equal"})
    return problem.model_copy(update={"fleet": fleet, "settings": settings})


def _count(problem: Problem, index: int) -> int | None:
    entry = problem.fleet[index]
    return sum(node.count for node in entry.nodes) if entry.nodes is not None else entry.count


def _joined(patient: Remedy, both: Remedy) -> Remedy:
    more = both.words[:1].lower() + both.words[1:]
    return Remedy(f"{patient.sentence}, and {more}", both.problem, both.plan, patient.named)


def _without(problem: Problem, profiles: Sequence[Profile], end: float) -> Remedy | None:
    """Returns the problem without the services of least value, if there is time to choose them."""
    left_s = end - time.monotonic()
    if left_s <= 0:
        return None
    try:
        return without_least(problem, profiles, min(TRIAL_S, left_s))
    except SliceplanError:
        return None
