"""
What small changes do to the cost: a tornado chart's figures, from the slice prices of one plan.

A rate or an SLO that changes by a part is priced as in pricing.py: the service's cheapest partitions then, less its
cheapest ones now, both at today's slice prices. That is exact while the change is small beside the fleet, but for what
whole GPUs make of it. A GPU's price is changed with today's plan: a rise adds at most this much, and a fall saves at
least this much, since another plan may be cheaper then.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from math import inf

from ..analysis.pricing import least_costs, prices_of
from ..model.plan import Plan, Prices
from ..model.problem import Problem
from ..model.profile import Profile
from ..model.sweep_report import Sensitivity, SensitivityKind, SensitivityReport
from ..performance.interference.prediction import Floats
from ..performance.resolve import ResolvedProblem, resolve
from ..runtime.interruption import best_so_far, offer
from ..runtime.progress import report

CHANGE = 0.1

ORDER: tuple[SensitivityKind, ...] = ("price", "rate", "slo")
"""In which kinds of changes are looked at: first what takes no time, last what has every operating point anew."""


def sensitivities(
    problem: Problem, plan: Plan, profiles: Sequence[Profile], change: float = CHANGE
) -> tuple[Sensitivity, ...]:
    """
    Returns what a change by this part does, greatest effect first; empty: the plan has no slice prices.

    ValueError if the change is not between 0 and 1.
    """
    return sensitivity_report(problem, plan, profiles, change).found


def sensitivity_report(
    problem: Problem, plan: Plan, profiles: Sequence[Profile], change: float = CHANGE, time_limit_s: float = inf
) -> SensitivityReport:
    """Returns the same, or as much of it as is known when it is interrupted or its time ends; errors as there."""
    if not 0 < change < 1:
        raise ValueError(f"change is {change}; expected a part between 0 and 1")
    if plan.prices is None:
        return SensitivityReport(found=())
    search = partial(_search, problem, plan, plan.prices, profiles, change)
    nothing = SensitivityReport(found=(), not_reached=ORDER)
    return best_so_far(search, lambda _: nothing, deadline=time.monotonic() + time_limit_s)


def _search(
    problem: Problem, plan: Plan, prices: Prices, profiles: Sequence[Profile], change: float
) -> SensitivityReport:
    resolved = resolve(problem, profiles)
    price = prices_of(resolved, prices)

    def at(now: Floats, slo: float = 1.0, rate: float = 1.0) -> Floats:
        return least_costs(resolved if slo == 1 else _with_slos(problem, profiles, slo), price, rate) - now

    known = _reported(_of_gpu_prices(resolved, plan, change), 1)
    now = least_costs(resolved, price)
    known = _reported([*known.found, *_by_service(problem, "rate", lambda part: at(now, rate=part), change)], 2)
    return _reported([*known.found, *_by_service(problem, "slo", lambda part: at(now, slo=part), change)], 3)


def _reported(found: Sequence[Sensitivity], kinds: int) -> SensitivityReport:
    """Names what is known so far; `kinds`: of ORDER, that all is known of."""
    greatest_first = tuple(sorted(found, key=lambda one: (-one.effect, one.what, one.of)))
    known = SensitivityReport(found=greatest_first, not_reached=ORDER[kinds:])
    offer(lambda _: known)
    report(f"sensitivities: {kinds} of {len(ORDER)} kinds of changes", kinds, len(ORDER))
    return known


def _by_service(problem: Problem, what: str, changed: Callable[[float], Floats], change: float) -> list[Sensitivity]:
    down, up = changed(1 - change), changed(1 + change)
    return [
        Sensitivity.model_validate(
            {"what": what, "of": workload.name, "down_usd_per_hour": _usd(less), "up_usd_per_hour": _usd(more)}
        )
        for workload, less, more in zip(problem.workloads, down, up, strict=True)
    ]


def _of_gpu_prices(resolved: ResolvedProblem, plan: Plan, change: float) -> list[Sensitivity]:
    used = Counter(gpu.gpu for gpu in plan.gpus)
    amounts = {gpu: change * count * resolved.fleet_by_name[gpu].price_per_hour for gpu, count in used.items()}
    return [
        Sensitivity(what="price", of=gpu, down_usd_per_hour=-amount, up_usd_per_hour=amount)
        for gpu, amount in amounts.items()
    ]


def _with_slos(problem: Problem, profiles: Sequence[Profile], factor: float) -> ResolvedProblem:
    workloads = tuple(one.model_copy(update={"slo_ms": one.slo_ms * factor}) for one in problem.workloads)
    return resolve(problem.model_copy(update={"workloads": workloads}), profiles)


def _usd(amount: float) -> float | None:
    """Returns an amount without the rounding of the arithmetic; None: nothing could serve it."""
    return None if amount != amount else round(float(amount), 9) + 0.0
