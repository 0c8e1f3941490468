"""
Why the cost rises where it does: which service forces the next GPU.

A step is a rise of the cost between neighbouring points of the sweep's first axis. A service forces it *alone* if its
change from the cheaper point to the dearer one, all others staying as they are at the cheaper one, already costs more
than the cheaper point. That is answered by solving that problem, never read off prices: it is *proven* where its bound
passes the cheaper point's cost, so that no plan of that cost serves it.

Services are tried in the order of what their change adds at the cheaper point's slice prices, most first, and up to
MOST_ALONE of them: all of these that force the step alone are named. Often none does, because each still fits into
what is idle, and only several changes together do not. Then bisection finds the shortest beginning of that order which
costs more (the least cost never falls when services are added to the change), and up to MOST_FILTERED services each is
left out again where the rest suffices: what remains is irreducible, without any of them there is no step, unless time
ran out before. Other such sets may exist; this one holds the services whose changes weigh most.

Prices and counts are not changes of services: such a step has the cause `fleet`. `unknown`: searches ended at the time
limit, or with gaps so that the cost of all changes together did not come out above the cheaper point's.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..analysis.pricing import least_costs, prices_of
from ..model.plan import Prices, Status
from ..model.problem import Problem
from ..model.stop_reason import StopReason
from ..model.sweep_report import CostStep, SweepPoint
from ..performance.resolve import resolve
from ..runtime.interruption import interruption
from ..workers.executors import Workers
from ..workers.gathering import Submission, gathered
from .axes import OF_SERVICES
from .order import Index
from .points import Sweep, unpacked

MOST_ALONE = 8
"""Services that are tried alone."""

MOST_FILTERED = 16
"""Services that together force a step and are tried to be left out again."""

OWN_PRICES = 0.25
"""Part of the time that the cheaper point's own prices may take."""

ROUNDING = 1e-9
"""Part of a cost by which another is more than rounding above it."""


@dataclass(frozen=True)
class Cause:
    """What forces a step; the fields are those of CostStep."""

    cause: str
    services: tuple[str, ...] = ()
    proven: bool = False


def rising(points: Sequence[SweepPoint]) -> list[tuple[SweepPoint, SweepPoint]]:
    """
    Returns the cheaper and the dearer point of each step, of points with a plan, along the first axis.

    Where the objective is capacity there is none: what is used costs what it costs.
    """
    lines: dict[Index, list[SweepPoint]] = {}
    for point in sorted(points, key=lambda point: point.index):
        if point.cost_per_hour is not None and point.capacity is None:
            lines.setdefault(point.index[1:], []).append(point)
    pairs = [pair for line in lines.values() for pair in pairwise(line)]
    by_cost = [sorted(pair, key=_cost) for pair in pairs]
    return [(low, high) for low, high in by_cost if _cost(high) > _cost(low) * (1 + ROUNDING)]


def explained(
    sweep: Sweep, points: Sequence[SweepPoint], workers: Workers, *, stop: threading.Event | None = None
) -> Iterator[CostStep]:
    """Yields the steps with what forces them, as they are found out; `stop` as for `swept`."""
    pairs = {(low.index, high.index): (low, high) for low, high in rising(points)}
    if sweep.axes[0].kind not in OF_SERVICES:
        for low, high in pairs.values():
            yield _step(low, high, Cause("fleet", proven=True))
        return
    data = sweep.packed()
    stop = interruption() if stop is None else stop

    def call(key: tuple[Index, Index]) -> Submission:
        low, high = pairs[key]
        return cause_of, data, low.index, high.index, _cost(low), low.prices

    for key, answer, _ in gathered(pairs, call, workers, stop=stop):
        yield _step(*pairs[key], answer if isinstance(answer, Cause) else Cause("unknown"))


def cause_of(data: bytes, cheaper: Index, dearer: Index, cost: float, prices: Prices | None) -> Cause:
    """
    Returns what forces the step between two points of a packed sweep, of which the cheaper one costs `cost`.

    `prices`: the cheaper point's as the sweep found them, which depend on what it began with; they are taken where
    there is no time for the point's own, with which the answer is the same every time.

    All searches for it together have the time of one point; what they leave open forces nothing as far as is known.
    """
    sweep = unpacked(data)
    limit_s = sweep.problem.settings.time_limit_s if sweep.time_limit_s is None else sweep.time_limit_s
    deadline = time.monotonic() + limit_s
    low, high = sweep.problem_at(cheaper), _by_services(sweep.problem_at(cheaper), sweep.problem_at(dearer))
    prices = _own_prices(sweep, low, OWN_PRICES * limit_s) or prices
    order = _heaviest_first(sweep, low, high, prices)

    def rises(names: Sequence[str]) -> Cause | None:
        left_s = deadline - time.monotonic()
        return _forced(sweep, _mixed(low, high, names), cost, prices, names, left_s) if left_s > 0 else None

    alone = [found for name in order[:MOST_ALONE] if (found := rises([name])) is not None]
    if alone:
        sure = [found for found in alone if found.proven] or alone
        return Cause("alone", tuple(name for found in sure for name in found.services), sure[0].proven)
    first = _shortest_beginning(order, rises)
    return Cause("unknown") if first is None else _irreducible(first, rises)


def description(step: CostStep) -> str:
    """Returns what forces a step, in a few words."""
    gpus = ", ".join(f"{count:+d} {gpu}" for gpu, count in step.gpus.items()) or "the same GPUs"
    names = " or ".join(step.services) if step.cause == "alone" else " + ".join(step.services)
    if len(step.services) > 3:
        word = "others" if step.cause == "alone" else "more together"
        names = f"{', '.join(step.services[:2])} and {len(step.services) - 2} {word}"
    match step.cause:
        case "fleet":
            return f"{gpus}: prices or counts"
        case "unknown":
            return f"{gpus}: no service found that forces it"
        case _:
            return f"{gpus}: {names}" + ("" if step.proven else " (not proven)")


def _by_services(low: Problem, high: Problem) -> Problem:
    """Returns the dearer problem with a changed headroom of all written as changed rates."""
    factor = (1 + high.settings.headroom) / (1 + low.settings.headroom)
    if factor == 1:
        return high
    workloads = tuple(one.model_copy(update={"rate_rps": one.rate_rps * factor}) for one in high.workloads)
    return high.model_copy(update={"workloads": workloads, "settings": low.settings})


def _mixed(low: Problem, high: Problem, names: Sequence[str]) -> Problem:
    """Returns the cheaper problem with some services as in the dearer one."""
    chosen = set(names)
    pairs = zip(low.workloads, high.workloads, strict=True)
    return low.model_copy(update={"workloads": tuple(h if h.name in chosen else w for w, h in pairs)})


def _own_prices(sweep: Sweep, low: Problem, time_limit_s: float) -> Prices | None:
    """Returns the slice prices of the cheaper point's problem by itself; None: there are none, or they take longer."""
    from .. import api  # here, so that only workers load the solvers

    plan = api.solve(low, profiles=sweep.profiles, time_limit_s=time_limit_s, gap=sweep.gap)
    return plan.prices if plan.search.stopped in (StopReason.PROVED, StopReason.GAP_REACHED) else None


def _heaviest_first(sweep: Sweep, low: Problem, high: Problem, prices: Prices | None) -> list[str]:
    """Returns the services that change, by what that adds at the slice prices; in their order where there are none."""
    changed = np.array([before != after for before, after in zip(low.workloads, high.workloads, strict=True)])
    rows = np.flatnonzero(changed)
    if prices is not None:
        before, after = resolve(low, sweep.profiles), resolve(high, sweep.profiles)
        price = prices_of(before, prices)
        added = np.nan_to_num(least_costs(after, price), nan=np.inf) - least_costs(before, price)
        more = after.required_rps / before.required_rps
        rows = rows[np.lexsort((-more[rows], -added[rows].round(9)))]
    return [low.workloads[int(w)].name for w in rows]


def _forced(
    sweep: Sweep, problem: Problem, cost: float, prices: Prices | None, names: Sequence[str], time_limit_s: float
) -> Cause | None:
    """Returns the changed services as a cause if the problem costs more than `cost`; None: not as far as is known."""
    from .. import api  # here, so that only workers load the solvers

    plan = api.solve(problem, profiles=sweep.profiles, time_limit_s=time_limit_s, gap=sweep.gap, start=prices)
    above = cost * (1 + ROUNDING)
    bound = plan.bound.cost_per_hour
    proven = plan.status is Status.INFEASIBLE or (bound is not None and bound > above)
    dearer = plan.cost_per_hour is not None and plan.cost_per_hour > above and plan.status is not Status.VIOLATING
    return Cause("together", tuple(names), proven) if proven or dearer else None


def _shortest_beginning(order: Sequence[str], rises: Callable[[Sequence[str]], Cause | None]) -> Cause | None:
    """Returns the shortest beginning of the order that forces the step; None: not even all together do."""
    found = rises(order)
    if found is None:
        return None
    too_few, enough = 1, len(order)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        shorter = rises(order[:middle])
        if shorter is None:
            too_few = middle
        else:
            enough, found = middle, shorter
    return found


def _irreducible(cause: Cause, rises: Callable[[Sequence[str]], Cause | None]) -> Cause:
    """Returns what is left when every service is left out that is not needed; long sets stay as they are."""
    if len(cause.services) > MOST_FILTERED:
        return cause
    for name in cause.services[:-1]:  # without the last one it was too short
        fewer = rises([other for other in cause.services if other != name])
        if fewer is not None:
            cause = fewer
    return cause


def _step(low: SweepPoint, high: SweepPoint, cause: Cause) -> CostStep:
    more = Counter(high.gpus)
    more.subtract(low.gpus)
    return CostStep.model_validate(
        {
            "cheaper": low.index,
            "dearer": high.index,
            "added_per_hour": _cost(high) - _cost(low),
            "gpus": {gpu: count for gpu, count in sorted(more.items()) if count},
            "cause": cause.cause,
            "services": cause.services,
            "proven": cause.proven,
        }
    )


def _cost(point: SweepPoint) -> float:
    return point.cost_per_hour or 0.0
