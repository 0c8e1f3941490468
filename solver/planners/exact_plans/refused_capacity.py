"""Of which problems under MPS the exact planner does not look for most capacity."""

from collections.abc import Iterator

from ...performance.resolve import ResolvedProblem

MOST_SERVICES = 1_000
"""Under MPS, on GPUs that are not cut or used whole: more were not tried."""

MOST_BESIDE_OTHERS = 300
"""Where GPUs are also cut or used whole: prices of more have no time to settle."""


def not_shared_capacity(resolved: ResolvedProblem) -> Iterator[str]:
    """Yields why most capacity is not looked for on a fleet with GPUs under MPS, each reason the rest of a sentence."""
    settings, services = resolved.problem.settings, len(resolved.problem.workloads)
    if settings.mps_rules != "free":
        yield f"under MPS for settings.mps_rules: free only; they are {settings.mps_rules}"
    if settings.shadow_percent:
        yield f"under MPS without standby processes only; settings.shadow_percent is {settings.shadow_percent:g}"
    if services > MOST_SERVICES:
        yield f"under MPS of up to {MOST_SERVICES:,} services; there are {services:,}"
    elif services > MOST_BESIDE_OTHERS and any(entry.sharing != {"mps"} for entry in resolved.fleet):
        yield (
            f"on fleets with MPS beside other GPUs of up to {MOST_BESIDE_OTHERS} services; there are {services:,} "
            "(of GPUs that are shared by MPS alone there may be more)"
        )
