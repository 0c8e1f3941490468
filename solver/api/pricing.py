"""The front door to prices: the exact plan, and what each service costs in it."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ..analysis.pricing import price_report
from ..model.counted import require_cost
from ..model.errors import Finding, InputError, described
from ..model.plan import Plan
from ..model.price_report import PriceReport
from ..model.problem import Problem
from ..model.profile import Profile
from ..runtime.interruption import best_so_far, interruptible_by
from .running import exact, planned
from .task import Task, task_of

FOR_SERVICES = 0.1
"""Part of the time for what each service costs in a plan."""


def price(
    problem: Problem,
    *,
    profiles: Sequence[Profile] | None = None,
    time_limit_s: float | None = None,
    gap: float | None = None,
    source: str | None = None,
) -> tuple[Plan, PriceReport | None]:
    """
    Returns the exact plan and what each service costs in it. Else as `solve`.

    None: no plan was found; or, where the plan has slice prices, no time was left to say what each service costs.

    InputError is raised also where there are no slice prices: with partitions that are kept free.
    """
    require_cost(problem, "what services cost is known of the cheapest plan", source)
    task = task_of(problem, profiles, time_limit_s, source, gap)
    if problem.settings.keeps_spares:
        message = "keeps partitions free; slice prices are known for fleets without such partitions"
        raise InputError([Finding(source or problem.name, "settings", message)])
    plan = planned(replace(task, deadline=task.part(1 - FOR_SERVICES)), exact())
    return plan, reported(task, plan)


def services_of(task: Task, plan: Plan) -> tuple[PriceReport | None, str | None]:
    """Returns what each service costs in a plan with slice prices, None if that takes too long, or how it failed."""
    try:
        return reported(task, plan), None
    except Exception as error:
        return None, described(error)


def reported(task: Task, plan: Plan) -> PriceReport | None:
    """Returns what each service costs in a plan; None: it has no slice prices, or there was no time."""
    with interruptible_by(threading.Event()):  # whoever interrupts a search wants to see what it found
        report: PriceReport | None = best_so_far(
            partial(price_report, task.resolved.problem, plan, task.profiles), lambda _: None, deadline=task.deadline
        )
        return report
