"""Why services have no place in a plan, in few lines: services with the same reason together."""

from .model.plan import Plan

MOST_NAMED = 3
"""Services of one reason that are named before the rest is only counted."""


def reasons(plan: Plan) -> list[str]:
    """Returns a line for each reason, with the services that it keeps out, in their order."""
    services: dict[str, list[str]] = {}
    for item in plan.unserved:
        services.setdefault(item.reason, []).append(item.workload)
    return [f"{_few(names)}: {reason}" for reason, names in services.items()]


def _few(names: list[str]) -> str:
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED:,} more"
