"""A plan in sentences for whoever pays for it: what is bought, what it costs, how good that is, and what limits it."""

from collections import Counter
from dataclasses import dataclass

from ..model.judged import judged
from ..model.objective import COST
from ..model.plan import Plan, PlannedGpu, Status
from ..model.problem import Problem
from ..model.stop_reason import StopReason
from .summary import misses

HOURS_A_MONTH = 730
"""A twelfth of a year, as clouds bill it."""

SHARED = {"mig": "cut by MIG", "mps": "shared by MPS", "exclusive": "used whole", "cores": "divided by cores"}


@dataclass(frozen=True)
class PlainWords:
    """One sentence or two on each question; empty where there is nothing to say."""

    bought: str
    cost: str
    proof: str
    limit: str
    """What kept the search from a better answer or proof, and what to do."""


def in_plain_words(problem: Problem, plan: Plan) -> PlainWords:
    """Returns the sentences about a plan and the problem that it answers; amounts in USD."""
    if not plan.gpus or plan.cost_per_hour is None:
        return PlainWords("", "", "", _limit(plan))
    monthly = plan.cost_per_hour * HOURS_A_MONTH
    cost = (
        f"${plan.cost_per_hour:,.2f} per hour, which is ${monthly:,.0f} per month of {HOURS_A_MONTH} hours, "
        f"${12 * monthly:,.0f} per year."
    )
    return PlainWords(_bought(problem, plan), cost, _proof(plan), _limit(plan))


def _bought(problem: Problem, plan: Plan) -> str:
    kinds = Counter((gpu.gpu, gpu.sharing) for gpu in plan.gpus)
    gpus = _listed([f"{count:,} x {gpu} {SHARED[sharing]}" for (gpu, sharing), count in kinds.items()])
    services = len(problem.workloads)
    held = f"{services:,} services" if services != 1 else "one service"
    partitions = sum(len(gpu.partitions) for gpu in plan.gpus)
    divided = f"in {partitions:,} partitions" if partitions != 1 else "in one partition"
    return f"{gpus}, {divided}, for {held}{_without_use(plan.gpus)}."


def _without_use(gpus: tuple[PlannedGpu, ...]) -> str:
    free = sum(not partition.serves for gpu in gpus for partition in gpu.partitions)
    return f"; {free:,} of the partitions are kept free against trouble" if free else ""


def _proof(plan: Plan) -> str:
    bound, cost = plan.bound.cost_per_hour, plan.cost_per_hour or 0.0
    if plan.status is Status.VIOLATING:
        return f"It does not hold: {misses(plan)}. Do not deploy it."
    if plan.capacity is not None:
        return _proof_of_capacity(plan)
    if plan.status is Status.OPTIMAL:
        return "No plan can cost less for these services, rates and prices: this is proven, not estimated."
    if bound is None:
        return f"Nothing is proven: {plan.planner} does not say how cheap a plan could be. Compare shows it."
    proven = COST.bound_in_words(bound)
    saved = max(0.0, cost - bound)
    return (
        f"{proven[0].upper()}{proven[1:]}. So a better plan, if there is one, saves at most "
        f"${saved:,.2f} per hour, ${saved * HOURS_A_MONTH:,.0f} per month."
    )


def _proof_of_capacity(plan: Plan) -> str:
    """What is proven of requests/s; what they count is the problem's."""
    own = judged(plan)
    carries = (
        f"Its partitions could carry {own.objective.shown(own.value or 0.0)} together, which is not what they serve."
    )
    if plan.status is Status.OPTIMAL:
        return f"{carries} No plan for these services, rates and GPUs could carry more: this is proven, not estimated."
    if own.bound is None or own.gap is None:
        return f"{carries} Nothing is proven: {plan.planner} does not say how much a plan could carry."
    proven = own.objective.bound_in_words(own.bound)
    return f"{carries} {proven[0].upper()}{proven[1:]}; this is {own.objective.gap_in_words(own.gap)}."


def _limit(plan: Plan) -> str:
    stopped, seconds = plan.search.stopped, plan.search.time_limit_s
    limit = "" if seconds is None else f" of {seconds:g} s"
    if stopped == StopReason.TIME_LIMIT:
        return f"The search ended at its time limit{limit}. A longer one (Settings) may find or prove more."
    if stopped == StopReason.INTERRUPTED:
        return "The search was ended early. Solve again and let it finish to find or prove more."
    if stopped == StopReason.GAP_REACHED:
        return "The search ended at the gap that was asked for. A smaller one may find or prove more."
    if stopped == StopReason.GAP_LEFT and plan.gpus:
        return "The search is complete. What is left between cost and proof, this method of proof cannot decide."
    if stopped == StopReason.HEURISTIC_DONE and plan.status is Status.FEASIBLE:
        return f"{plan.planner} takes its steps and stops; exact goes on until no plan is cheaper."
    if stopped == StopReason.HEURISTIC_DONE and plan.status is Status.NONE_FOUND:
        return f"{plan.planner} takes its steps and stops; exact looks for a plan, or for a proof that there is none."
    if stopped == StopReason.GAP_LEFT:
        return "The search is complete; whether there is a plan, its method of proof cannot decide."
    if stopped == StopReason.REFUSED:
        return "The planner was not asked to search. Compare shows which planners take the problem."
    if stopped == StopReason.INFEASIBLE:
        return "A longer search does not help: this fleet cannot serve these services, whatever the plan."
    return ""


def _listed(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 2 else parts)
