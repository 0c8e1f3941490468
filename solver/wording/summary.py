"""A plan's result in one sentence, for the terminal and the page."""

from ..model.judged import Judged, judged
from ..model.objective import CAPACITY, COST
from ..model.plan import BatchAdjustment, Plan, Status
from ..model.prices import price_words
from ..model.stop_reason import StopReason
from ..model.words import boards_in_words, counted

WITHOUT_PLAN = (Status.INFEASIBLE, Status.NONE_FOUND, Status.REFUSED, Status.TIMEOUT)


def plan_summary(plan: Plan, gap: float | None) -> str:
    """
    Returns cost, GPUs, how good they are proven to be, and at whose prices.

    `gap`: to the best bound known; with the objective capacity None means the plan's own.
    """
    words = whose_prices(plan)
    return f"{plan_result(plan, gap)}, {words}" if words else plan_result(plan, gap)


def whose_prices(plan: Plan) -> str:
    """Returns at whose prices a plan was made; empty: there is none, or nothing is known about them."""
    words = price_words(plan.gpu_prices or (), {gpu.gpu for gpu in plan.gpus}) if plan.gpus else ""
    return f"at {words}" if words else ""


def plan_result(plan: Plan, gap: float | None) -> str:
    """Returns cost, GPUs, and how good they are proven to be; `gap` as in `plan_summary`."""
    if plan.status in WITHOUT_PLAN:
        return _without_plan(plan)
    gpus = boards_in_words(plan.gpus)
    if plan.cost_per_hour is None:
        return f"{gpus}; nothing is known about the cost"
    cost = f"{gpus}, {COST.shown(plan.cost_per_hour)}"
    if plan.shadow is not None and plan.shadow.extra_cost_per_hour is not None:
        cost += f" (${plan.shadow.extra_cost_per_hour:,.2f} of it for standby processes)"
    if plan.insurance is not None and plan.insurance.extra_cost_per_hour is not None:
        cost += f" (${plan.insurance.extra_cost_per_hour:,.2f} of it for partitions that are kept free)"
    if plan.batch_adjustment is not None:
        cost += f" ({adjustment_in_words(plan, plan.batch_adjustment)})"
    if plan.status is Status.VIOLATING:
        return f"{cost}, but it does not hold: {misses(plan)}"
    if plan.capacity is not None:
        return f"{cost}; {_could_carry(plan, gap)}"
    if plan.status is Status.OPTIMAL or gap == 0:
        return f"{cost}: proven {COST.best}"
    if gap is None:
        return f"{cost}: serves everything, but nothing is proven about its cost"
    return f"{cost}: {COST.gap_in_words(gap)}"


def adjustment_in_words(plan: Plan, gain: BatchAdjustment) -> str:
    """Returns what batches and shares chosen anew under MPS gain."""
    if not gain.changed:
        return "BDA found no better batches or shares under MPS"
    objective = judged(plan).objective
    objective = CAPACITY if objective == COST else objective
    what = f"BDA chose {counted(gain.changed, 'share')} under MPS anew"
    return f"{what}, which could carry {objective.figure(gain.before)} before and {objective.shown(gain.after)} now"


def _could_carry(plan: Plan, gap: float | None) -> str:
    own = judged(plan)
    gap = own.gap if gap is None else gap
    value = f"could carry {own.objective.shown(own.value or 0.0)}"
    if plan.status is Status.OPTIMAL or gap == 0:
        return f"{value}: proven {own.objective.best}"
    return f"{value}, of which nothing is proven" if gap is None else f"{value}: {own.objective.gap_in_words(gap)}"


def so_far_in_words(found: Judged, seconds: float) -> str:
    """Returns how good the best plan so far is by its problem's objective, and how long it took to find."""
    when, objective = f"found after {seconds:.1f} s", found.objective
    if found.value is None:
        return f"a plan, {when}"
    shown = objective.shown(found.value)
    if found.bound is None or found.gap is None:
        return f"{shown}, nothing proven about its {objective.name} yet, {when}"
    return f"{shown}, {objective.gap_in_words(found.gap)} ({objective.figure(found.bound)}), {when}"


def _without_plan(plan: Plan) -> str:
    """Returns what is known of a problem when a planner gave no plan for it."""
    if plan.status is Status.REFUSED:
        return f"{plan.planner} does not take this problem, which proves nothing about it: another planner may."
    if plan.status is Status.TIMEOUT:
        if plan.search.stopped == StopReason.INTERRUPTED:
            return f"Interrupted before a plan was found; {_open(plan)}"
        return f"No plan was found within the time limit; {_open(plan)} Allow more time."
    # Plans of before there was this word are infeasible by heuristics too, which prove nothing.
    if plan.status is Status.NONE_FOUND or plan.search.stopped != StopReason.INFEASIBLE:
        return f"{plan.planner} found no plan, and it is not proven that there is none."
    return f"Proven: no plan exists. {counted(len(plan.unserved), 'service')} cannot be served."


def _open(plan: Plan) -> str:
    bound = plan.bound.cost_per_hour
    known = "" if bound is None else f", but {COST.bound_in_words(bound)}"
    return f"whether there is one is open{known}."


def missed_slos(plan: Plan) -> dict[str, float]:
    """Returns the services that a plan gives less than it promises, each with its worst excess over a limit."""
    worst: dict[str, float] = {}
    for violation in plan.violations:
        if violation.workload is not None:
            worst[violation.workload] = max(violation.excess, worst.get(violation.workload, 0.0))
    return worst


def misses(plan: Plan) -> str:
    """Returns how many services of a violating plan miss their SLO, and by how much at most."""
    services = missed_slos(plan)
    worst = max(services.values(), default=0.0)
    parts = [f"{counted(len(services), 'service')} {_verb('miss', len(services))} the SLO, by up to {worst:.1%}"]
    gpus = {violation.gpu for violation in plan.violations if violation.workload is None}
    if gpus:
        parts.append(f"{counted(len(gpus), 'GPU')} {_verb('give', len(gpus))} away more than there is")
    return " and ".join(parts)


def _verb(verb: str, number: int) -> str:
    """Returns a verb as it stands behind a number of things."""
    return {"miss": "misses", "give": "gives"}[verb] if number == 1 else verb
