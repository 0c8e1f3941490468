"""
How many GPUs carry which content: the master program of most capacity under MPS, and what its prices prove.

Data: contents p of GPUs of type g with h_pw requests/s and m_pw residents of w; N_g GPUs; rates R_w; a_w > 0 what a
request/s counts; least and greatest replicas m_w, M_w. With whole z_p >= 0

    max  sum_p sum_w a_w h_pw z_p
    s.t. sum_p h_pw z_p >= R_w,   m_w <= sum_p m_pw z_p <= M_w   for every w,   sum_{p of g} z_p <= N_g   for every g

For any y, r, s >= 0 every plan, of whatever contents, has at most

    sum_g N_g V_g - sum_w y_w R_w + sum_w r_w M_w - sum_w s_w m_w

where V_g >= 0 is at least what any content of g is worth at (a_w + y_w) a request/s less r_w - s_w a resident: the
plan's value is at most sum_p z_p sum_w ((a_w + y_w) h_pw - (r_w - s_w) m_pw) - sum y R + sum r M - sum s m, as rates
and replicas are kept. V_g is that of content_limit.py. The prices of the linear program over known contents are only a
good choice of y, r, s.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from ortools.math_opt.python import mathopt
from scipy.optimize import linprog

from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from ..backends.highs import run_highs
from .figures import Content

DEAR = 4.0
"""What a workload that goes without costs, in the most valuable contents."""

MET = 1e-9
"""Part of a rate that may be missing by rounding."""

ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class MasterPrices:
    """Prices of rates and replicas, shape (workload,), not below 0; weighted requests/s."""

    of_rate: Floats
    of_more: Floats
    """Of a resident more, where the greatest number binds."""
    of_less: Floats
    """Of a resident, where the least number binds."""

    def of(self, weights: Floats) -> tuple[Floats, Floats]:
        """Returns the price of a request/s and that of a resident, shape (workload,)."""
        return weights + self.of_rate, self.of_more - self.of_less

    def between(self, other: "MasterPrices", part: float) -> "MasterPrices":
        """Returns prices on the way to others."""
        pairs = ((self.of_rate, other.of_rate), (self.of_more, other.of_more), (self.of_less, other.of_less))
        return MasterPrices(*((1 - part) * own + part * there for own, there in pairs))


def limit_at(
    resolved: ResolvedProblem, prices: MasterPrices, worth: Mapping[str, float], gpus: Mapping[str, int]
) -> float:
    """Returns what no plan on so many GPUs exceeds; `worth`: GPU type -> V."""
    workloads = resolved.problem.workloads
    most = np.array([one.max_replicas or 0.0 for one in workloads])
    least = np.array([float(one.min_replicas) for one in workloads])
    terms = [
        sum(gpus[gpu] * own for gpu, own in worth.items()),
        -float(prices.of_rate @ resolved.required_rps),
        float(prices.of_more @ most),
        -float(prices.of_less @ least),
    ]
    return sum(terms) + ROUNDING * sum(map(abs, terms))


def master_prices(resolved: ResolvedProblem, weights: Floats, contents: Sequence[Content]) -> MasterPrices:
    """
    Returns the prices of the linear program over some contents, where a workload may do without.

    A workload that lacks all of its rate, or a replica, costs DEAR times the most valuable content, so that there is a
    solution whatever the contents, and no price is beyond that. Who may have one replica only has no price of its rate:
    contents have it with all of its rate or not at all (figures.py).
    """
    workloads, n = resolved.problem.workloads, len(resolved.required_rps)
    rates = np.array([one.rates(n) for one in contents]).reshape(-1, n).T
    replicas = np.array([one.replicas(n) for one in contents]).reshape(-1, n).T
    limited = np.array([one.max_replicas is not None for one in workloads])
    free = np.array([one.max_replicas != 1 for one in workloads])
    most = np.array([float(one.max_replicas or 0) for one in workloads])
    least = np.array([float(one.min_replicas) for one in workloads])
    of_type = np.array([[one.gpu.gpu == entry.gpu.name for one in contents] for entry in resolved.fleet], dtype=float)
    value = weights @ rates
    unit = float(value.max(initial=0.0)) or 1.0
    shares = (rates / resolved.required_rps[:, None])[free]
    missing = -np.vstack([np.eye(n)[free], np.zeros((len(of_type) + int(limited.sum()), n)), np.eye(n)])
    answer = linprog(
        np.concatenate([-value / unit, np.full(n, DEAR)]),
        A_ub=np.hstack([np.vstack([-shares, of_type, replicas[limited], -replicas]), missing]),
        b_ub=np.concatenate(
            [-np.ones(len(shares)), [float(entry.available or 0) for entry in resolved.fleet], most[limited], -least]
        ),
        method="highs-ds",
    )
    dual = np.maximum(-np.asarray(answer.ineqlin.marginals) * unit, 0.0)
    cuts = np.cumsum([len(shares), len(resolved.fleet), int(limited.sum())])
    of_share, _, of_limited, of_less = np.split(dual, cuts)
    of_rate, of_more = np.zeros(n), np.zeros(n)
    of_rate[free] = of_share / resolved.required_rps[free]
    of_more[limited] = of_limited
    return MasterPrices(of_rate, of_more, of_less)


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
    n = len(resolved.required_rps)
    carried = sum((one.rates(n) for one in contents), np.zeros(n))
    return bool(np.all(carried >= resolved.required_rps * (1 - MET)))


def value_of(weights: Floats, contents: Sequence[Content]) -> float:
    """Returns what contents count together."""
    return float(sum(weights @ one.rates(len(weights)) for one in contents))
