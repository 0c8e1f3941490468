"""What a plan could carry of each service beside what it asks for, where capacity is the objective."""

from ..model.capacity_report import CapacityReport, ServiceCapacity
from ..model.judged import carried_rps
from ..model.plan import Plan
from ..model.problem import Problem


def capacity_report(problem: Problem, plan: Plan) -> CapacityReport:
    """Returns what a plan whose problem has the objective capacity says of it, service by service."""
    found, carried = plan.capacity, carried_rps(plan)
    if found is None:
        raise ValueError("the plan's problem has another objective")
    services = [
        ServiceCapacity(
            workload=one.name,
            rate_rps=one.rate_rps * (1 + problem.settings.headroom),
            capacity_rps=carried.get(one.name, 0.0),
        )
        for one in (problem.workloads if plan.gpus else ())
    ]
    return CapacityReport(
        weights=found.weights,
        capacity=found.value,
        limit=found.limit,
        gap=found.gap,
        services=tuple(services),
        one_more=found.one_more,
    )
