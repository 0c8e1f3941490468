"""
Which services to leave out at least value: where the GPUs do not carry all of them, or to rent one GPU less.

The choice and its proof are those of `sliceplan shed`; what is offered was planned.
"""

from collections.abc import Sequence
from dataclasses import replace

from sliceplan.solver.model.capacity_report import ShedReport
from sliceplan.solver.model.naming import SERVICES
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.model.words import counted

from .remedy import Remedy
from .room_to_grow import rented

TRIAL_S = 4.0
"""Of one search."""

MOST_NAMED = 3
"""Services that are named; of more, the first."""

SAME = 1e-9
"""As a part of a value: within it the value is the least."""


def without_least(problem: Problem, profiles: Sequence[Profile], limit_s: float = TRIAL_S) -> Remedy | None:
    """Returns the problem without the services of least value; None: none need go, or no choice was found in time."""
    from sliceplan.solver import api

    limit_s = min(limit_s, problem.settings.time_limit_s)
    found = api.shed(problem, profiles=profiles, time_limit_s=limit_s)
    if not found.report.shed or found.problem is None or found.plan is None or not _serves(found.plan):
        return None
    return Remedy(_words(problem, found.report), found.problem, found.plan, _left_out(found.report)[:MOST_NAMED])


def one_gpu_less(problem: Problem, plan: Plan, profiles: Sequence[Profile]) -> tuple[Remedy, ...]:
    """
    Returns, for each GPU type that a plan rents, whom to leave out for one GPU of it less.

    Those whose plans take one GPU less come first, before those that take even fewer; of these the cheapest. The
    problems keep the whole fleet: the plans are the cheapest ones on it, and cost less than the plan that there is.
    """
    from sliceplan.solver import api

    today = rented(problem, plan)
    found = []
    for index, entry in enumerate(today.fleet):
        if not entry.count:
            continue
        less = entry.model_copy(update={"count": entry.count - 1})
        fleet = (*today.fleet[:index], less, *today.fleet[index + 1 :])
        way = without_least(today.model_copy(update={"fleet": fleet}), profiles)
        if way is None:
            continue
        changed = way.problem.model_copy(update={"fleet": problem.fleet})
        limit_s = min(TRIAL_S, problem.settings.time_limit_s)
        again = api.solve(changed, profiles=profiles, time_limit_s=limit_s, start=way.plan.prices)
        if _serves(again) and _is_cheaper(again, plan):
            found.append(replace(way, problem=changed, plan=again))
    one_less = plan.gpus_used - 1
    return tuple(sorted(found, key=lambda way: (abs(way.plan.gpus_used - one_less), way.plan.cost_per_hour or 0.0)))


def _serves(plan: Plan) -> bool:
    return bool(plan.gpus) and not plan.unserved and not plan.violations


def _is_cheaper(one: Plan, other: Plan) -> bool:
    if one.cost_per_hour is None or other.cost_per_hour is None:
        return one.gpus_used < other.gpus_used
    return one.cost_per_hour < other.cost_per_hour * (1 - SAME)


def _words(problem: Problem, report: ShedReport) -> str:
    """Returns whom to leave out, what is lost by it where values are stated, and whether that is the least."""
    names = _left_out(report)
    is_least = report.value_lost <= report.least_value_lost * (1 + SAME)
    if any(one.value is not None for one in problem.workloads):
        lost = f"value {report.value_lost:g} of {sum(one.worth for one in problem.workloads):g}"
        proof = "; no less will do" if is_least else ""
    else:
        lost = f"{counted(len(names), 'service')} of {len(problem.workloads):,}"
        proof = "; no fewer will do" if is_least else ""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return f"Go without {SERVICES}{more} ({lost}{proof})"


def _left_out(report: ShedReport) -> tuple[str, ...]:
    return tuple(one.workload for one in report.shed)
