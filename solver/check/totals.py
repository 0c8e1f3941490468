"""
What a plan says of all of itself, against its problem: cost, bound on the number of GPUs, who is unserved, what standby
processes and free partitions add.

What it says that cannot be so together is asked of model/consistency.py, for those who have no problem at hand.
"""

from collections.abc import Iterator, Mapping

from ..model.consistency import WITHOUT_PLAN, contradictions
from ..model.plan import Plan, Promise, Status
from ..model.prices import usd_per_hour_of
from ..model.problem import Problem
from .latency import stated_promise
from .violation import RELATIVE, Violation, close


def wrong_totals(problem: Problem, plan: Plan, used: Mapping[str, int]) -> Iterator[Violation]:
    """Yields what is wrong with a plan as a whole; `used`: GPU type -> how many GPUs it uses."""
    for path, message in contradictions(plan):
        yield Violation("plan", f"{path} {message}")
    if plan.status not in WITHOUT_PLAN and plan.promise != (expected := stated_promise(problem)):
        yield Violation("plan", f"promise is {_in_short(plan.promise)}; the problem's is {_in_short(expected)}")
    yield from _wrong_unserved(problem, plan)
    yield from _wrong_extras(problem, plan)
    prices = usd_per_hour_of(problem)
    if plan.status in WITHOUT_PLAN or any(gpu not in prices for gpu in used):
        return  # reported with the fleet
    cost = sum(prices[gpu] * times for gpu, times in used.items())
    if plan.cost_per_hour is None or not close(plan.cost_per_hour, cost):
        yield Violation("plan", f"cost_per_hour is {plan.cost_per_hour}, but its GPUs cost {cost:.6f}")
    yield from _wrong_bound_of_gpus(plan, set(prices.values()))


def _in_short(promise: Promise | None) -> str:
    return "null (execution)" if promise is None else promise.model_dump_json()


def _wrong_bound_of_gpus(plan: Plan, prices: set[float]) -> Iterator[Violation]:
    """Where all GPUs cost the same, the bound on their number is that on the cost; else none follows from it."""
    gpus, bound = plan.bound.gpus, plan.bound.cost_per_hour
    if gpus is None:
        return
    if bound is None or len(prices) > 1:
        why = "no bound on the cost is given" if bound is None else "GPUs of several prices are in the fleet"
        yield Violation("plan", f"bound.gpus is {gpus}, but {why}: expected null")
    elif abs(bound / min(prices) - gpus) > 0.5 + RELATIVE:
        yield Violation("plan", f"bound.gpus is {gpus}, but the bound on the cost pays {bound / min(prices):.6g} GPUs")


def _wrong_unserved(problem: Problem, plan: Plan) -> Iterator[Violation]:
    known = {workload.name for workload in problem.workloads} if plan.unserved else set()
    for one in plan.unserved:
        if one.workload not in known:
            yield Violation("plan", f"unserved names {one.workload!r}, which is not in the problem")


def _wrong_extras(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """What standby processes and free partitions add is said where the problem asks for them, and nowhere else."""
    settings, taken = problem.settings, plan.status is not Status.REFUSED
    if (plan.shadow is not None) != (settings.shadow_percent > 0 and taken):
        given = "null" if plan.shadow is None else "given"
        yield Violation("plan", f"shadow is {given}, but the problem's shadow_percent is {settings.shadow_percent:g}")
    elif plan.shadow is not None and not close(plan.shadow.percent, settings.shadow_percent):
        asked = f"{settings.shadow_percent:g}"
        yield Violation(
            "plan", f"shadow.percent is {plan.shadow.percent:g}, but the problem's shadow_percent is {asked}"
        )
    if (plan.insurance is not None) != (settings.keeps_spares and taken):
        given = "null" if plan.insurance is None else "given"
        asked = "some" if settings.keeps_spares else "none"
        yield Violation("plan", f"insurance is {given}, but the problem keeps {asked} partitions free")
