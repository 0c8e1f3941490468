"""What a report says in words: the proof, and what could go wrong."""

from collections.abc import Iterator

from sliceplan.solver.model.judged import judged
from sliceplan.solver.model.objective import COST, SAME
from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.model.words import boards_of
from sliceplan.solver.wording.promise import execution_in_words, promise_in_words
from sliceplan.solver.wording.summary import misses

from .limit_words import why_the_limit_holds

VERDICTS = {
    Status.OPTIMAL: "Proven: no plan for this problem costs less.",
    Status.FEASIBLE: "The plan serves everything; whether a cheaper one exists is not settled.",
    Status.INFEASIBLE: "Proven: there is no plan, some services cannot be served as asked.",
    Status.NONE_FOUND: "No plan was found, and it is not proven that there is none.",
    Status.REFUSED: "The planner does not take this problem, which proves nothing about it.",
    Status.TIMEOUT: "No plan was found in time; whether there is one is open.",
    Status.VIOLATING: "The plan does not hold: it misses promises. Do not deploy it.",
}

OF_CAPACITY = {
    Status.OPTIMAL: "Proven: no plan for this problem could carry more.",
    Status.FEASIBLE: "The plan serves everything; whether one exists that could carry more is not settled.",
}

STOPPED = {
    StopReason.PROVED: "the proof was complete",
    StopReason.GAP_REACHED: "the gap is as small as was asked for",
    StopReason.TIME_LIMIT: "its time was over",
    StopReason.INFEASIBLE: "no plan can exist",
    StopReason.GAP_LEFT: "the search was complete, but its bound stays below the cost",
    StopReason.HEURISTIC_DONE: "the heuristic was done; it proves nothing by itself",
    StopReason.INTERRUPTED: "it was interrupted",
    StopReason.REFUSED: "it never began",
}


def promised(problem: Problem, plan: Plan) -> str:
    """Returns what the plan promises of latencies."""
    return execution_in_words(problem.settings.slo_fraction) if plan.promise is None else promise_in_words(plan.promise)


def proof(plan: Plan) -> Iterator[str]:
    """Yields sentences on what is proven about a plan's cost, or what it could carry, and how."""
    bound, own = plan.bound, judged(plan)
    if own.objective == COST or plan.status not in (Status.OPTIMAL, Status.FEASIBLE):
        yield VERDICTS[plan.status]
    else:
        yield OF_CAPACITY[plan.status]
    if own.objective != COST:
        if own.value is not None:
            yield f"What it could carry, which is not what it serves: {own.objective.shown(own.value)}."
        if own.bound is not None:
            yield f"Upper limit: {own.objective.bound_in_words(own.bound)}."
            yield f"Why the limit holds: {why_the_limit_holds(bound.method)}"
    elif bound.cost_per_hour is None:
        yield "No lower limit on the cost is known."
    else:
        noun = "GPUs and CPUs together" if boards_of(plan.gpus)[1] else "GPUs"
        gpus = "" if bound.gpus is None else f", and none has fewer than {bound.gpus} {noun}"
        yield f"Lower limit: {COST.bound_in_words(bound.cost_per_hour)}{gpus}."
        yield f"Why the limit holds: {why_the_limit_holds(bound.method)}"
    if plan.gap is not None:
        yield "This plan costs exactly that." if plan.gap <= SAME else f"This plan is {plan.gap:.2%} above it."
    limit = "" if plan.search.time_limit_s is None else f" (time limit {plan.search.time_limit_s:g} s)"
    yield f"Found by {plan.planner} in {plan.runtime_s:.2f} s{limit}; its search ended: {STOPPED[plan.search.stopped]}."
    yield (
        "Every plan is checked afterwards by code that imports no planner: places, memory, latencies and rates are "
        "computed again from the problem and the profiles."
    )


def dangers(plan: Plan) -> Iterator[str]:
    """Yields what forbids to deploy a plan."""
    if plan.violations:
        yield f"Do not deploy: {misses(plan)}."
    for one in plan.violations:
        yield f"{one.gpu}{f', {one.workload}' if one.workload else ''}: {one.message} ({one.excess:.1%} over the limit)"
    for unserved in plan.unserved:
        yield f"{unserved.workload} is not served: {unserved.reason}"


def kept_free(problem: Problem, plan: Plan) -> Iterator[str]:
    """Yields what is kept for trouble, and what is not."""
    asked = problem.settings
    if asked.headroom:
        yield f"Headroom: {asked.headroom:.0%} more than each service's rate is provided for."
    else:
        yield "No headroom: a rate above the one stated is not provided for, beyond the room named below."
    if asked.spare_gpu_loss:
        yield "Partitions are kept free so that whatever ran on any one lost GPU fits elsewhere."
    else:
        yield "No partitions are kept free for a lost GPU: what runs there is gone until the GPU is replaced."
    if asked.spare_services and asked.spare_rate:
        yield f"Any {asked.spare_services} services can be given {asked.spare_rate:.0%} more in free partitions."
    if plan.shadow is not None:
        yield f"Standby processes: {plan.shadow.percent:g} % of each GPU under MPS is kept free for them."
    for what, extra in (
        ("Partitions kept free", plan.insurance and plan.insurance.extra_cost_per_hour),
        ("Standby processes", plan.shadow and plan.shadow.extra_cost_per_hour),
    ):
        if extra is not None:
            yield f"{what} cost ${extra:,.2f} per hour of the plan."
