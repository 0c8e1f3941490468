"""The cheapest mix of GPU types: what one would buy if there were as many of each type as wanted."""

from collections import Counter
from collections.abc import Sequence

from .. import api
from ..model.counted import require_cost
from ..model.errors import InputError, described
from ..model.plan import Plan
from ..model.problem import FleetEntry, Problem
from ..model.profile import Profile
from ..model.sweep_report import FleetMix, PointStatus, SingleType
from ..runtime.progress import report
from .points import why_no_plan


def fleet_mix(
    problem: Problem,
    *,
    profiles: Sequence[Profile],
    fleet: Sequence[FleetEntry] | None = None,
    time_limit_s: float | None = None,
) -> FleetMix:
    """
    Returns the cheapest mix and what each type alone would cost.

    Parameters
    ----------
    fleet
        GPU types with their prices and sharing; None: the problem's. Counts and nodes are left aside.
    time_limit_s
        For each of the searches: one for the mix, and one for each type.

    Raises
    ------
    InputError
        If the mix refers to something unknown. A type that alone does not suit the services has its reason instead,
        and so has a search that fails.
    """
    require_cost(problem, "a mix is what one would buy at least cost, of any number of GPUs")
    free = [entry.model_copy(update={"count": None, "nodes": None}) for entry in fleet or problem.fleet]
    report(f"mix: all of {len(free)} types")
    mixed = _mixed(problem, free, profiles, time_limit_s)
    single = []
    for entry in free:
        report(f"mix: {entry.gpu} alone")
        single.append(_alone(problem, entry, profiles, time_limit_s))
    return mixed.model_copy(update={"single": tuple(single)})


def _mixed(
    problem: Problem, free: Sequence[FleetEntry], profiles: Sequence[Profile], time_limit_s: float | None
) -> FleetMix:
    """Returns the cheapest mix, without the types alone; an error of its search is its reason."""
    try:
        plan = api.solve(_on(problem, free), profiles=profiles, time_limit_s=time_limit_s)
    except InputError:
        raise
    except Exception as error:
        reason = described(error)
        return FleetMix(
            status="failed", cost_per_hour=None, bound_per_hour=None, gap=None, gpus={}, reason=reason, single=()
        )
    return FleetMix(
        status=plan.status.value,
        cost_per_hour=plan.cost_per_hour,
        bound_per_hour=plan.bound.cost_per_hour,
        gap=plan.gap,
        gpus=dict(sorted(Counter(gpu.gpu for gpu in plan.gpus).items())),
        reason=why_no_plan(plan),
        single=(),
    )


def _alone(problem: Problem, entry: FleetEntry, profiles: Sequence[Profile], time_limit_s: float | None) -> SingleType:
    elsewhere = [one.name for one in problem.workloads if one.gpus is not None and entry.gpu not in one.gpus]
    if elsewhere:
        more = f" and {len(elsewhere) - 1} more" if len(elsewhere) > 1 else ""
        return _without(entry, "infeasible", f"{elsewhere[0]}{more}: may not use it (`gpus`)")
    free = tuple(one.model_copy(update={"gpus": None}) for one in problem.workloads)
    try:
        plan: Plan = api.solve(
            _on(problem.model_copy(update={"workloads": free}), [entry]), profiles=profiles, time_limit_s=time_limit_s
        )
    except InputError as error:
        reason = f"{error.findings[0].path} {error.findings[0].message}".strip()
        return _without(entry, "failed", reason)
    except Exception as error:
        return _without(entry, "failed", described(error))
    return SingleType(
        gpu=entry.gpu,
        status=plan.status.value,
        cost_per_hour=plan.cost_per_hour,
        gap=plan.gap,
        gpus=plan.gpus_used,
        reason=why_no_plan(plan),
    )


def _without(entry: FleetEntry, status: PointStatus, reason: str) -> SingleType:
    return SingleType(gpu=entry.gpu, status=status, cost_per_hour=None, gap=None, gpus=0, reason=reason)


def _on(problem: Problem, fleet: Sequence[FleetEntry]) -> Problem:
    return problem.model_copy(update={"fleet": tuple(fleet)})
