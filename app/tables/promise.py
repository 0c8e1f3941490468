"""What a plan promises of latencies, as a badge beside its proof and in a sentence."""

from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.wording.promise import promise_in_words

from .verdict import Colour


def plans_for_no_percentile(plan: Plan) -> bool:
    """Tells whether a plan keeps to how long a batch executes alone, so that requests may be late as they wait."""
    return bool(plan.gpus) and plan.status is not Status.VIOLATING and plan.promise is None


def promise_badge(plan: Plan) -> tuple[str, Colour] | None:
    """Returns the words and their colour, orange where nothing is promised of requests; None: there is no plan."""
    if not plan.gpus or plan.status is Status.VIOLATING:
        return None
    if plan.promise is None:
        return "Late requests not planned for", "orange"
    if plan.promise.latency == "percentile":
        return f"{100 * (plan.promise.quantile or 0.0):.10g} % of requests in time", "blue"
    return "All requests in time, if evenly spaced", "blue"


def promise_at_first(problem: Problem, plan: Plan) -> str:
    """Returns what is promised for somebody who reads it for the first time: how requests are dealt is left out."""
    if plan.promise is None or plan.promise.latency != "percentile":
        return promise_sentence(problem, plan)
    share = f"{100 * (plan.promise.quantile or 0.0):.10g} %"
    return f"{share} of requests are answered within their latency limit (SLO), if they come at random."


def promise_sentence(problem: Problem, plan: Plan) -> str:
    """Returns what is promised of requests; empty: there is no plan."""
    if promise_badge(plan) is None:
        return ""
    if plan.promise is None:
        part = f"{100 * problem.settings.slo_fraction:.10g} %"
        return f"a batch takes at most {part} of its SLO; how many requests are late is not planned for."
    return f"{promise_in_words(plan.promise)}."
