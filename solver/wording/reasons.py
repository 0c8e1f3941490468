"""Why services have no place in a plan, in few lines: services with the same reason together, and so planners."""

from collections.abc import Iterable

from ..model.plan import Plan, Status

MOST_NAMED = 3
"""Services of one reason that are named before the rest is only counted."""


def reasons(plan: Plan) -> list[str]:
    """Returns a line for each reason, with the services that it keeps out, in their order."""
    services: dict[str, list[str]] = {}
    for item in plan.unserved:
        services.setdefault(item.reason, []).append(item.workload)
    return [f"{_few(names)}: {reason}" for reason, names in services.items()]


def shared_reasons(plans: Iterable[Plan]) -> list[tuple[list[str], Status, list[str]]]:
    """Returns the planners that have no plan for the same reasons, what that says, and the lines of the reasons."""
    planners: dict[tuple[Status, tuple[str, ...]], list[str]] = {}
    for plan in plans:
        if plan.unserved:
            planners.setdefault((plan.status, tuple(reasons(plan))), []).append(plan.planner)
    return [(names, status, list(lines)) for (status, lines), names in planners.items()]


def _few(names: list[str]) -> str:
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED:,} more"
