"""What a plan promises of latencies, in a sentence."""

from textwrap import wrap

from ..model.plan import Plan, Promise, Status

DEALT = {
    "weighted_round_robin": "dealt by weighted round robin",
    "random": "dealt at random by weight",
    "least_expected": "dealt to the least expected completion",
    "central": "from one central queue",
}

WIDTH = 78
"""Columns of a line, two less than a terminal's: some are indented."""


def promise_in_words(promise: Promise | None) -> str:
    """Returns what is promised, of which requests, and how they must be dealt; None: the rule of execution."""
    if promise is None:
        return "execution within a part of the SLO; how many requests are late is not planned for"
    if promise.latency == "worst_case":
        return "all requests within the SLO if they arrive evenly spaced at each partition"
    if promise.latency == "assembly":
        return "all requests within the SLO if they arrive evenly spaced at each partition, batches held until full"
    own = f" ({len(promise.quantiles)} with a quantile of their own)" if promise.quantiles else ""
    queues = "" if promise.process_queues != "own" else ", a queue for each process"
    dealt = DEALT[promise.dispatch or "random"]
    return f"{_percent(promise.quantile or 0.0)} of requests within the SLO{own} for Poisson arrivals, {dealt}{queues}"


def execution_in_words(slo_fraction: float) -> str:
    """Returns what the rule of execution promises."""
    return f"execution within {_percent(slo_fraction)} of the SLO: no percentile is promised"


def promised(plan: Plan) -> list[str]:
    """Returns what a plan promises in lines of a terminal; empty: it has no GPUs, or misses what it was to keep."""
    if not plan.gpus or plan.status is Status.VIOLATING:
        return []
    return wrap(f"promised: {promise_in_words(plan.promise)}", WIDTH, subsequent_indent="  ")


def other_router_in_words(planned_for: str, dispatch: str) -> str:
    """Returns that a plan was looked at with another router than its own, which certifies nothing."""
    return f"not certified: the plan is for dispatch {planned_for}, this is {dispatch}"


def _percent(part: float) -> str:
    return f"{100 * part:.10g} %"
