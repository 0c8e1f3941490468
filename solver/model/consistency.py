"""
What a plan says of itself that cannot be so together, whatever problem it answers.

Who has the problem recomputes the plan (`check`, which asks here first); whoever has the plan alone (a picture, a
transition, an export, an agent) can at least refuse one whose own statements contradict each other. Whether its GPUs
can be divided as it says is division.py's question.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import attrgetter

from .capacity_consistency import wrong_capacity
from .division import Wrong
from .errors import Finding, InputError
from .labels import labels_of_others, same_looks
from .lists import few
from .parsing import grouped
from .plan import Partition, Plan, PlannedGpu, Search, Served, Status
from .rounding import RELATIVE, close
from .stop_reason import StopReason

WITH_SOME_PLAN = (
    StopReason.GAP_LEFT,
    StopReason.GAP_REACHED,
    StopReason.HEURISTIC_DONE,
    StopReason.TIME_LIMIT,
    StopReason.INTERRUPTED,
)

STOPPED: Mapping[Status, Collection[str]] = {
    Status.OPTIMAL: (StopReason.PROVED,),
    Status.FEASIBLE: WITH_SOME_PLAN,
    Status.VIOLATING: WITH_SOME_PLAN,
    Status.INFEASIBLE: (StopReason.INFEASIBLE,),
    Status.NONE_FOUND: (StopReason.HEURISTIC_DONE, StopReason.GAP_LEFT),
    Status.REFUSED: (StopReason.REFUSED,),
    Status.TIMEOUT: (StopReason.TIME_LIMIT, StopReason.INTERRUPTED),
}
"""How searches end that give these answers: only one that ended with a proof is `optimal` or `infeasible`."""

WITHOUT_PLAN = (Status.INFEASIBLE, Status.NONE_FOUND, Status.REFUSED, Status.TIMEOUT)


def refuse_contradictions(plan: Plan, source: str) -> None:
    """Raises InputError if a plan contradicts itself, with every finding."""
    if plan.status is Status.INFEASIBLE and plan.search.stopped in STOPPED[Status.NONE_FOUND]:
        # A file of before there was a word for that; whoever shows it says that nothing is proven.
        plan = plan.model_copy(update={"status": Status.NONE_FOUND})
    findings = [Finding(source, *wrong) for wrong in (*contradictions(plan), *contradictory_figures(plan))]
    if findings:
        raise InputError(grouped(findings))


def contradictions(plan: Plan) -> Iterator[Wrong]:
    """Yields what a plan says of all of itself that cannot be so together: path of a field, and why."""
    if plan.gpus_used != len(plan.gpus):
        yield "gpus_used", f"is {plan.gpus_used}, but it lists {len(plan.gpus)} GPUs"
    yield from _wrong_end(plan.status, plan.search)
    yield from _without_plan(plan) if plan.status in WITHOUT_PLAN else _with_plan(plan)
    yield from _repeated("unserved", (one.workload for one in plan.unserved))
    yield from _wrong_bound(plan)
    yield from _wrong_differences(plan)
    yield from _wrong_violations(plan)
    yield from _wrong_labels(plan)
    listed = [] if plan.metrics is None else list(map(attrgetter("id"), plan.metrics.gpus))
    if plan.metrics is not None and listed != list(map(attrgetter("id"), plan.gpus)):
        yield "metrics.gpus", "does not list the ids of the plan's GPUs in their order"


def contradictory_figures(plan: Plan) -> Iterator[Wrong]:
    """Yields the figures of services that cannot be so together: more than the capacity, a sum that is none."""
    for i, gpu in enumerate(plan.gpus):
        for j, partition in enumerate(gpu.partitions):
            path = f"gpus[{i}].partitions[{j}]"
            yield from wrong_round(partition, path, may_be_late=plan.status is Status.VIOLATING)
            for k, served in enumerate(partition.serves):
                yield from _wrong_figures(plan, served, f"{path}.serves[{k}]")


def _wrong_end(status: Status, search: Search) -> Iterator[Wrong]:
    if search.stopped not in STOPPED[status]:
        ends = " or ".join(STOPPED[status])
        yield "search.stopped", f"is {search.stopped}, but status is {status}: its search ended with {ends}"
    if search.stopped == StopReason.TIME_LIMIT and search.time_limit_s is None:
        yield "search.time_limit_s", "is null, but the search ended with time_limit"
    if search.stopped == StopReason.REFUSED and search.time_limit_s is not None:
        yield "search.time_limit_s", f"is {search.time_limit_s:g}, but the search never began (refused)"


def _without_plan(plan: Plan) -> Iterator[Wrong]:
    """What an answer without a plan cannot have, and must have."""
    for field in ("gpus", "cost_per_hour", "gap", "violations", "metrics", "prices", "promise"):
        if getattr(plan, field) not in (None, ()):
            yield field, f"is given, but status is {plan.status}, which is without a plan"
    if plan.capacity is not None and plan.capacity.value is not None:
        yield "capacity.value", f"is given, but status is {plan.status}, which is without a plan"
    if plan.status is not Status.TIMEOUT and not plan.unserved:
        yield "unserved", f"names no unserved workload, but status is {plan.status}"


def _with_plan(plan: Plan) -> Iterator[Wrong]:
    if plan.unserved:
        yield "unserved", f"names {len(plan.unserved)} workloads, but status is {plan.status}"
    if plan.status is Status.VIOLATING and not plan.violations:
        yield "violations", "is empty, but status is violating"
    if plan.status is not Status.VIOLATING and plan.violations:
        yield "violations", f"names {len(plan.violations)}, but status is {plan.status}"


def _wrong_bound(plan: Plan) -> Iterator[Wrong]:
    """Bound, value and gap; a violating plan serves less than it should, so a bound says nothing of it."""
    bound, cost = plan.bound.cost_per_hour, plan.cost_per_hour
    if plan.capacity is not None:
        yield from _of_another_objective(plan)
        yield from wrong_capacity(plan, plan.capacity)
        return
    if plan.status is Status.VIOLATING:
        if plan.gap is not None:
            yield "gap", f"is {plan.gap}, but status is violating: a plan that misses SLOs has none"
        return
    if plan.status in WITHOUT_PLAN:
        return
    if plan.bound.gpus is not None and plan.bound.gpus > plan.gpus_used:
        yield "bound.gpus", f"is {plan.bound.gpus}, but it uses {plan.gpus_used} GPUs"
    if bound is None or cost is None:
        if plan.gap is not None:
            yield "gap", f"is {plan.gap}, but {'the bound' if bound is None else 'the cost'} is null"
        if plan.status is Status.OPTIMAL:
            yield "bound.cost_per_hour", "is null, or the cost is, but status is optimal"
        return
    if bound > cost * (1 + RELATIVE):
        yield "bound.cost_per_hour", f"is {bound:.6f}; its bound is above its cost {cost:.6f}"
    gap = max(0.0, cost - bound) / bound if bound else None
    if (plan.gap is None) != (gap is None) or (
        plan.gap is not None and gap is not None and abs(plan.gap - gap) > RELATIVE
    ):
        yield "gap", f"is {plan.gap}, but cost and bound give {gap}"
    if plan.status is Status.OPTIMAL and not close(bound, cost):
        yield "status", f"is optimal, but the bound {bound:.6f} is below the cost {cost:.6f}"


def _of_another_objective(plan: Plan) -> Iterator[Wrong]:
    """A plan for most capacity says nothing of how cheap a plan could be."""
    stated = {
        "bound.cost_per_hour": plan.bound.cost_per_hour,
        "bound.gpus": plan.bound.gpus,
        "gap": plan.gap,
        "prices": plan.prices,
    }
    for path, value in stated.items():
        if value is not None:
            yield path, "is given, but capacity is too: its objective is not cost"


def _wrong_differences(plan: Plan) -> Iterator[Wrong]:
    """What standby processes and free partitions add is the difference of two costs, of which one may be missing."""
    for field in ("shadow", "insurance"):
        stated = getattr(plan, field)
        if stated is None:
            continue
        without, cost, extra = stated.cost_without_per_hour, plan.cost_per_hour, stated.extra_cost_per_hour
        known = without is not None and cost is not None
        path = f"{field}.extra_cost_per_hour"
        if (extra is not None) != known:
            yield path, f"is {extra}, but the costs are {cost} and, without, {without}"
        elif known and not abs(extra - (cost - without)) <= RELATIVE * max(cost, without):
            yield path, f"is {extra:.6f}, but the costs differ by {cost - without:.6f}"


def _wrong_violations(plan: Plan) -> Iterator[Wrong]:
    """Violations are of GPUs of the plan and of services there."""
    on: Mapping[str, PlannedGpu] = {gpu.id: gpu for gpu in plan.gpus} if plan.violations else {}
    for i, one in enumerate(plan.violations):
        gpu = on.get(one.gpu)
        if gpu is None:
            yield f"violations[{i}].gpu", f"is {one.gpu!r}, which is no GPU of the plan"
        elif one.workload is not None:
            served = {served.workload for partition in gpu.partitions for served in partition.serves}
            if one.workload not in served:
                yield f"violations[{i}].workload", f"is {one.workload!r}, which {one.gpu} does not serve"


def _wrong_labels(plan: Plan) -> Iterator[Wrong]:
    """Who reads a label is to know which service it is: the problem's rule, for plans whose problem is not at hand."""
    if not plan.labels:
        return
    if alike := same_looks(plan.labels.values()):
        yield "labels", f"are the same, or look alike: {few(alike)}"
    if taken := labels_of_others(plan.labels, plan.service_names):
        yield "labels", f"are names of other services: {few(taken)}"


def _wrong_figures(plan: Plan, served: Served, path: str) -> Iterator[Wrong]:
    promised = "capacity_rps" if served.promised_rps is None else "promised_rps"
    too_much = served.rate_rps > served.carries_rps * (1 + RELATIVE)
    if too_much and plan.status is not Status.VIOLATING:
        yield f"{path}.rate_rps", f"is {served.rate_rps:g}, more than its {promised} of {served.carries_rps:g}"
    if served.carries_rps > served.capacity_rps * (1 + RELATIVE):
        yield (
            f"{path}.promised_rps",
            f"is {served.promised_rps:g}, more than its capacity_rps of {served.capacity_rps:g}",
        )
    if served.causes_ms is not None and not close(sum(served.causes_ms.values()), served.latency_ms):
        total = sum(served.causes_ms.values())
        yield f"{path}.causes_ms", f"add up to {total:g}; latency_ms is {served.latency_ms:g}"


def wrong_round(partition: Partition, path: str, *, may_be_late: bool = False) -> Iterator[Wrong]:
    """Yields what contradicts that turns fit into their round, unless they may be late, and carry a batch a round."""
    round_ms = partition.duty_cycle_ms
    if round_ms is None:
        return
    taken_ms = sum(served.latency_ms for served in partition.serves)
    if taken_ms > round_ms * (1 + RELATIVE) and not may_be_late:
        yield f"{path}.duty_cycle_ms", f"is {round_ms:g}; the turns take {taken_ms:g} ms"
    for k, served in enumerate(partition.serves):
        expected = 1000 * served.batch / round_ms
        if not close(served.capacity_rps, expected):
            message = f"is {served.capacity_rps:g}; a batch of {served.batch} every {round_ms:g} ms gives {expected:g}"
            yield f"{path}.serves[{k}].capacity_rps", message


def _repeated(field: str, names: Iterable[str]) -> Iterator[Wrong]:
    for name, times in Counter(names).items():
        if times > 1:
            yield field, f"names {name} {times} times"
