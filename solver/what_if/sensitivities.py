"""
What small changes do to the cost: a tornado chart's figures, from the slice prices of one plan.

A rate or an SLO that changes by a part is priced as in pricing.py: the service's cheapest partitions then, less its
cheapest ones now, both at today's slice prices. That is exact while the change is small beside the fleet, but for what
whole GPUs make of it. A GPU's price is changed with today's plan: a rise adds at most this much, and a fall saves at
least this much, since another plan may be cheaper then.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from ..analysis.pricing import least_costs, prices_of
from ..model.plan import Plan
from ..model.problem import Problem
from ..model.profile import Profile
from ..model.sweep_report import Sensitivity
from ..performance.interference.prediction import Floats
from ..performance.resolve import ResolvedProblem, resolve

CHANGE = 0.1


def sensitivities(
    problem: Problem, plan: Plan, profiles: Sequence[Profile], change: float = CHANGE
) -> tuple[Sensitivity, ...]:
    """
    Returns what a change by this part does, greatest effect first; empty: the plan has no slice prices.

    ValueError if the change is not between 0 and 1.
    """
    if not 0 < change < 1:
        raise ValueError(f"change is {change}; expected a part between 0 and 1")
    if plan.prices is None:
        return ()
    resolved = resolve(problem, profiles)
    price = prices_of(resolved, plan.prices)
    now = least_costs(resolved, price)

    def at(slo: float = 1.0, rate: float = 1.0) -> Floats:
        return least_costs(resolved if slo == 1 else _with_slos(problem, profiles, slo), price, rate) - now

    found = []
    for what, changed in (("rate", lambda part: at(rate=part)), ("slo", lambda part: at(slo=part))):
        found += _by_service(problem, what, changed, change)
    found += _of_gpu_prices(resolved, plan, change)
    return tuple(sorted(found, key=lambda one: (-one.effect, one.what, one.of)))


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
