"""What a problem's settings let its plans promise of latencies."""

from .plan import Promise
from .problem import Problem


def promise_of(problem: Problem) -> Promise | None:
    """Returns what a plan for the problem promises; None: execution within a part of the SLO, no percentile."""
    settings = problem.settings
    if settings.latency == "execution":
        return None
    percentile = settings.latency == "percentile"
    return Promise(
        latency=settings.latency,
        quantile=settings.quantile if percentile else None,
        quantiles={one.name: one.slo_quantile for one in problem.workloads if one.slo_quantile is not None},
        dispatch=settings.dispatch if percentile else None,
        process_queues=settings.process_queues if percentile else None,
    )
