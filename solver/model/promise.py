"""What a problem's settings let its plans promise of latencies."""

from .plan import Promise
from .problem import Problem, Settings

NEW_SETTINGS = Settings(latency="percentile", quantile=0.99)
"""
What a problem states that is begun today and says nothing else: the P99 that contracts have, for random arrivals.

It is written into the problem. Files without the fields mean what they always did, `execution`: the digests by which
old plans name their problems rest on that (digest.py). `slo_fraction` keeps its default: it is no part of this promise.
"""


def promise_of(problem: Problem) -> Promise | None:
    """Returns what a plan for the problem promises; None: execution within a part of the SLO, no percentile."""
    settings = problem.settings
    if settings.latency == "execution":
        return None
    percentile = settings.latency == "percentile"
    on_queues = settings.latency in ("percentile", "assembly")
    return Promise(
        latency=settings.latency,
        quantile=settings.quantile if percentile else None,
        quantiles={one.name: one.slo_quantile for one in problem.workloads if one.slo_quantile is not None},
        dispatch=settings.dispatch if percentile else None,
        process_queues=settings.process_queues if on_queues else None,
    )
