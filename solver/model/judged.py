"""How good a plan is by the objective of its problem: its value, what no plan is better than, and the gap between."""

from collections.abc import Mapping
from dataclasses import dataclass

from .counted import asks_for_capacity
from .objective import CAPACITY, COST, SOLO_CAPACITY, Objective
from .plan import Plan, PlanCapacity, Status
from .problem import Problem, Weights


@dataclass(frozen=True)
class Judged:
    """A plan's value by an objective, in its unit."""

    objective: Objective
    value: float | None
    """None: there is no plan, or nothing is known of it."""
    bound: float | None
    """None: nothing was proven."""
    gap: float | None


def judged(plan: Plan) -> Judged:
    """Returns how good a plan is; one that misses SLOs has no gap."""
    if plan.capacity is None:
        return Judged(COST, plan.cost_per_hour, plan.bound.cost_per_hour, plan.gap)
    own = plan.capacity
    return Judged(objective_of(own.weights), own.value, own.limit, own.gap)


def objective_of(weights: Weights | None) -> Objective:
    """Returns the objective capacity with what a request/s counts; None: the objective cost."""
    if weights is None:
        return COST
    return CAPACITY if weights == "equal" else SOLO_CAPACITY


def weights_of(problem: Problem) -> Weights | None:
    """Returns what a request/s counts where a problem asks for most capacity; None: it asks for least cost."""
    return problem.settings.capacity_weights if asks_for_capacity(problem) else None


def carried_rps(plan: Plan) -> dict[str, float]:
    """Returns what a plan's partitions could carry of each service, requests/s."""
    carried: dict[str, float] = {}
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            for served in partition.serves:
                carried[served.workload] = carried.get(served.workload, 0.0) + served.carries_rps
    return carried


def capacity_of(
    plan: Plan,
    weights: Weights,
    solo_rps: Mapping[str, float] | None,
    *,
    limit: float | None = None,
    one_more: Mapping[str, float] | None = None,
) -> PlanCapacity:
    """
    Returns what a plan could carry, and how that compares with a limit.

    Parameters
    ----------
    solo_rps
        Service -> what one GPU carries of it alone, requests/s, which weights solo divide by; None: weights are equal.
    limit
        Proven: no plan could carry more; None: nothing was proven.
    one_more
        GPU type -> the same with one more GPU of it.
    """
    value = None
    if plan.gpus:
        carried = carried_rps(plan)
        value = sum(own if solo_rps is None else own / solo_rps[name] for name, own in carried.items())
    return PlanCapacity(
        weights=weights,
        value=value,
        limit=limit,
        gap=None if plan.status is Status.VIOLATING else objective_of(weights).gap(value, limit),
        solo_rps=None if value is None or solo_rps is None else dict(solo_rps),
        one_more=dict(one_more or {}),
    )
