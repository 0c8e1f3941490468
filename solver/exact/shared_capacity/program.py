"""
How many GPUs carry which content: the program of most capacity under MPS (prices.py) over the contents that are known.

Its prices are a good choice of prices, and its best whole numbers are a plan.
"""

from collections.abc import Sequence

import numpy as np
from ortools.math_opt.python import mathopt
from scipy.sparse import csr_array

from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from ..backends.highs import run_highs
from .asked_rows import AskedRows
from .figures import Content
from .prices import MasterPrices

MET = 1e-9
"""Part of a rate that may be missing by rounding."""


def master_prices(resolved: ResolvedProblem, weights: Floats, contents: Sequence[Content]) -> MasterPrices:
    """Returns the prices of the linear program over some contents, where a workload may go without."""
    n = len(resolved.required_rps)
    rates = np.array([one.rates(n) for one in contents]).reshape(-1, n).T
    replicas = np.array([one.replicas(n) for one in contents]).reshape(-1, n).T
    rows = AskedRows.of(resolved)
    workload, column = np.nonzero(replicas)
    asked = rows.matrix(workload, column, rates[workload, column], replicas[workload, column], len(contents))
    of_type = csr_array(
        np.array([[one.gpu.gpu == entry.gpu.name for one in contents] for entry in resolved.fleet], dtype=float)
    )
    value = weights @ rates
    found = rows.best(
        value,
        asked,
        of_type,
        np.array([float(entry.available or 0) for entry in resolved.fleet]),
        unit=float(value.max(initial=0.0)) or 1.0,
        method="highs-ds",
    )
    assert found is not None  # whoever goes without is a solution, and no time limit ends it
    return found.prices


def best_mix(
    resolved: ResolvedProblem,
    weights: Floats,
    contents: Sequence[Content],
    start: Sequence[Content],
    *,
    time_limit_s: float,
    gap: float,
) -> list[Content] | None:
    """Returns the best whole numbers of known contents, one by one; None: none was found. `start`: a plan of them."""
    n, workloads = len(resolved.required_rps), resolved.problem.workloads
    model = mathopt.Model(name="contents")
    z = [model.add_integer_variable(lb=0) for _ in contents]
    rates, replicas = [one.rates(n) for one in contents], [one.replicas(n) for one in contents]
    for w, workload in enumerate(workloads):
        carried = mathopt.LinearSum(
            float(own[w] / resolved.required_rps[w]) * x for own, x in zip(rates, z, strict=True)
        )
        model.add_linear_constraint(carried >= 1)
        number = mathopt.LinearSum(int(own[w]) * x for own, x in zip(replicas, z, strict=True))
        model.add_linear_constraint(number >= workload.min_replicas)
        if workload.max_replicas is not None:
            model.add_linear_constraint(number <= workload.max_replicas)
    for entry in resolved.fleet:
        used = mathopt.LinearSum(x for one, x in zip(contents, z, strict=True) if one.gpu.gpu == entry.gpu.name)
        model.add_linear_constraint(used <= (entry.available or 0))
    value = [float(weights @ own) for own in rates]
    unit = max(value, default=0.0) or 1.0
    model.maximize(mathopt.LinearSum(own / unit * x for own, x in zip(value, z, strict=True)))
    known = {x: float(sum(one == own for own in start)) for one, x in zip(contents, z, strict=True)}
    result = run_highs(model, time_limit_s, absolute_gap=None, gap=gap, start=known)
    if not result.has_primal_feasible_solution():
        return None
    best = result.variable_values()
    found = [one for one, x in zip(contents, z, strict=True) for _ in range(round(best[x]))]
    return found if meets(resolved, found) else None


def meets(resolved: ResolvedProblem, contents: Sequence[Content]) -> bool:
    """Tells whether contents carry every rate; a solver with its tolerances may take less for enough."""
    return bool(carried_whole(resolved, contents).all())


def carried_whole(resolved: ResolvedProblem, contents: Sequence[Content]) -> np.ndarray:
    """Tells of each workload whether contents carry all of its rate, shape (workload,)."""
    n = len(resolved.required_rps)
    carried = sum((one.rates(n) for one in contents), np.zeros(n))
    return np.asarray(carried >= resolved.required_rps * (1 - MET))


def value_of(weights: Floats, contents: Sequence[Content]) -> float:
    """Returns what contents count together."""
    return float(sum(weights @ one.rates(len(weights)) for one in contents))
