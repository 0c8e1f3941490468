"""The library's front door: solve one problem, or put all planners side by side."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from . import assembly
from .check import check
from .formats.profile_files import shipped_profiles
from .metrics import measure
from .model.plan import Bound, Plan, Search, Status
from .model.problem import Problem
from .model.profile import Profile
from .performance.resolve import ResolvedProblem, resolve
from .performance.unservable import unservable
from .planners import registry
from .planners.planner import Planner

UNSERVABLE = Search(stopped="infeasible", time_limit_s=None, solver=None)


class WrongPlanError(RuntimeError):
    """A planner returned a plan that violates the problem: a mistake in sliceplan, not in the input."""


@dataclass(frozen=True)
class Comparison:
    """Several planners' plans for one problem, in the order asked for, and the best bound proven by any of them."""

    plans: tuple[Plan, ...]
    bound: Bound

    def gap_to_bound(self, plan: Plan) -> float | None:
        """Returns (cost - bound) / bound with the best bound; None if the plan or the bound is missing."""
        return assembly.gap(plan.cost_per_hour, self.bound)

    def as_data(self) -> dict[str, Any]:
        """Returns the figures of every planner, without the GPUs of its plan, for JSON."""
        keep = {
            "planner",
            "status",
            "cost_per_hour",
            "gpus_used",
            "bound",
            "search",
            "runtime_s",
            "unserved",
            "metrics",
        }
        rows = [
            {**plan.model_dump(mode="json", include=keep), "gap_to_best_bound": self.gap_to_bound(plan)}
            for plan in self.plans
        ]
        return {"bound": self.bound.model_dump(mode="json"), "planners": rows}


def solve(
    problem: Problem,
    planner: str = "exact",
    *,
    profiles: Sequence[Profile] | None = None,
    time_limit_s: float | None = None,
    source: str | None = None,
) -> Plan:
    """
    Returns the plan of one planner, verified.

    Parameters
    ----------
    profiles
        None: the shipped ones. A later profile wins over an earlier one of the same model and GPU.
    time_limit_s
        None: the problem's own limit.
    source
        Where the problem comes from, for error messages; None: its name.

    Raises
    ------
    InputError
        If the problem refers to something unknown.
    WrongPlanError
        If the plan does not hold.
    """
    known = shipped_profiles() if profiles is None else list(profiles)
    return _planned(resolve(problem, known, source), registry.planner_named(planner), known, time_limit_s)


def compare(
    problem: Problem,
    planners: Sequence[str] | None = None,
    *,
    profiles: Sequence[Profile] | None = None,
    time_limit_s: float | None = None,
    on_plan: Callable[[Plan], None] | None = None,
    source: str | None = None,
) -> Comparison:
    """
    Returns the plans of several planners and the best proven bound; arguments and errors as for `solve`.

    Parameters
    ----------
    planners
        Names of planners; None: all.
    on_plan
        Called with each plan as it is ready.
    """
    known = shipped_profiles() if profiles is None else list(profiles)
    chosen = [registry.planner_named(name) for name in planners or planner_names()]
    resolved = resolve(problem, known, source)
    plans = []
    for planner in chosen:
        plans.append(_planned(resolved, planner, known, time_limit_s))
        if on_plan is not None:
            on_plan(plans[-1])
    bounds = [plan.bound for plan in plans if plan.bound.cost_per_hour is not None]
    best = max(bounds, key=lambda bound: bound.cost_per_hour or 0.0, default=assembly.UNKNOWN_BOUND)
    return Comparison(tuple(plans), best)


def planner_names() -> tuple[str, ...]:
    """Returns the names of all planners, the exact ones first."""
    return tuple(registry.planners())


def planner_sources() -> dict[str, str]:
    """Returns where each planner comes from: paper and section."""
    return {name: planner.source for name, planner in registry.planners().items()}


def _planned(
    resolved: ResolvedProblem, planner: Planner, profiles: Iterable[Profile], time_limit_s: float | None
) -> Plan:
    """Runs a planner, measures its plan and verifies it."""
    started = time.perf_counter()
    if impossible := unservable(resolved):
        plan = assembly.without_plan(
            resolved, impossible, planner=planner.name, status=Status.INFEASIBLE, search=UNSERVABLE
        )
    else:
        limit = resolved.problem.settings.time_limit_s if time_limit_s is None else time_limit_s
        plan = planner.plan(resolved, time_limit_s=limit)
    runtime_s = time.perf_counter() - started
    known = list(profiles)
    metrics = measure(resolved.problem, plan, known)
    plan = plan.model_copy(update={"runtime_s": round(runtime_s, 6), "metrics": metrics})
    if violations := check(resolved.problem, plan, known):
        raise WrongPlanError(f"{planner.name} returned a plan that does not hold: {'; '.join(map(str, violations))}")
    return plan
