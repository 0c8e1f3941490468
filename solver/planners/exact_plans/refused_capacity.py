"""Of which problems under MPS the exact planner does not look for most capacity."""

from collections.abc import Iterator

from ...performance.resolve import ResolvedProblem

MOST_SERVICES = 300
"""Under MPS: prices of more have no time to settle."""


def not_shared_capacity(resolved: ResolvedProblem) -> Iterator[str]:
    """Yields why most capacity is not looked for on a fleet with GPUs under MPS, each reason the rest of a sentence."""
    settings, services = resolved.problem.settings, len(resolved.problem.workloads)
    if settings.mps_rules != "free":
        yield f"under MPS for settings.mps_rules: free only; they are {settings.mps_rules}"
    if settings.shadow_percent:
        yield f"under MPS without standby processes only; settings.shadow_percent is {settings.shadow_percent:g}"
    if services > MOST_SERVICES:
        yield f"under MPS of up to {MOST_SERVICES} services; there are {services:,}"
