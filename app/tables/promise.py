"""What a plan promises of latencies, as a badge beside its proof and in a sentence."""

from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.simulation_report import SimulationReport
from sliceplan.solver.model.words import counted
from sliceplan.solver.wording.promise import promise_in_words
from sliceplan.solver.wording.what_is_proven import of_execution, plans_for_no_percentile

from .verdict import Colour


def promise_badge(plan: Plan, simulated: SimulationReport | None = None) -> tuple[str, Colour] | None:
    """
    Returns the words and their colour, orange where nothing is promised of requests; None: there is no plan.

    What a simulation of the plan at its own rates found late takes the place of what is promised, in red.
    """
    if not plan.gpus or plan.status is Status.VIOLATING:
        return None
    if simulated is not None and simulated.holds == "no":
        found = found_of_requests(simulated)
        return found[0].upper() + found[1:], "red"
    if plan.promise is None:
        return "Late requests not planned for", "orange"
    if plan.promise.latency == "percentile":
        return f"{100 * (plan.promise.quantile or 0.0):.10g} % of requests in time", "blue"
    return "All requests in time, if evenly spaced", "blue"


def found_of_requests(report: SimulationReport) -> str:
    """Returns what a simulation found of late requests, and, unless services are late, that it was one that did."""
    found = requests_in_time(report)
    return found if any(one.holds == "no" for one in report.services) else f"simulated: {found}"


def requests_in_time(report: SimulationReport) -> str:
    """Returns of how many services requests are late: `7 of 11 services miss 99 % in time`."""
    total, late = len(report.services) + len(report.missing), sum(one.holds == "no" for one in report.services)
    asked = f"{100 * report.quantile:.10g} % in time"
    if report.holds == "yes":
        return f"{'the service keeps' if total == 1 else f'all {total:,} services keep'} {asked}"
    if late:
        return f"{late:,} of {counted(total, 'service')} {'misses' if late == 1 else 'miss'} {asked}"
    return f"no service is known to miss {asked}, and not every one to keep it"


def proof_and_requests(plan: Plan, result: str, missing: str, simulated: SimulationReport | None) -> str:
    """
    Returns a plan's result in one line that is no success alone where requests are late, or may be.

    Parameters
    ----------
    result
        Its cost, and how good that is (`plan_result`).
    missing
        What the proof leaves out, with its comma; empty: nothing.
    simulated
        What was found of the plan at its own rates; None: it was not simulated.
    """
    if not plan.gpus or plan.status is Status.VIOLATING:
        return result + missing
    alone = of_execution(plan, result, plan.gap) + missing
    if simulated is not None and (plans_for_no_percentile(plan) or simulated.holds == "no"):
        return f"{alone}; {found_of_requests(simulated)}"
    return f"{alone}; late requests not planned for" if plans_for_no_percentile(plan) else alone


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
