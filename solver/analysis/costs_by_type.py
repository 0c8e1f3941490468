"""Why a service is where it is: what it would cost on each GPU or CPU type alone, at the slice prices of a plan."""

from collections.abc import Sequence

import numpy as np

from ..model.errors import InputError
from ..model.plan import Plan, Prices
from ..model.problem import FleetEntry, Problem
from ..model.profile import Profile
from ..performance.interference.prediction import Floats
from ..performance.resolve import resolve
from .pricing import least_costs, prices_of


def costs_by_type(problem: Problem, plan: Plan, profiles: Sequence[Profile]) -> dict[str, Floats]:
    """
    Returns what each service's cheapest partitions of one type would cost, USD per hour.

    Prices are those of `pricing.py`: what one more partition of a kind adds to the least cost. A service may well be on
    a type that is dearer for it, where whole GPUs leave room over.

    Returns
    -------
    dict[str, Floats]
        By the name of the type, shape (workload,); nan: nothing there holds its SLO, or nobody measured it. Empty: the
        plan has no slice prices.
    """
    if plan.prices is None:
        return {}
    return {entry.gpu: _on(problem, entry, plan.prices, profiles) for entry in problem.fleet}


def _on(problem: Problem, entry: FleetEntry, prices: Prices, profiles: Sequence[Profile]) -> Floats:
    cost = np.full(len(problem.workloads), np.nan)
    measured = {model for model, gpu in problem.profiles_over(profiles) if gpu == entry.gpu}
    may = [
        w
        for w, one in enumerate(problem.workloads)
        if one.model in measured and (one.gpus is None or entry.gpu in one.gpus)
    ]
    if not may:
        return cost
    alone = {"fleet": (entry,), "workloads": tuple(problem.workloads[w] for w in may)}
    try:
        resolved = resolve(problem.model_copy(update=alone), profiles)
    except InputError:  # nothing of what was measured there can be planned
        return cost
    cost[may] = least_costs(resolved, prices_of(resolved, prices))
    return cost
