"""
How many GPUs carry which content: whole numbers of the program of most capacity under MPS (prices.py) over known ones.

A workload may go without, all of its rate or a replica, at the price at which it may in parts of contents: so a plan
that lacks somebody can be mended step by step.
"""

from collections.abc import Mapping, Sequence
from math import inf

import numpy as np
from ortools.math_opt.python import mathopt

from ...allocation.allocated import CutGpu
from ...performance.interference.prediction import Floats
from ..backends.highs import run_highs
from .asked_rows import DEAR, AskedRows
from .cut_program import cut_variables
from .gpu_contents import Content, GpuContents

MORE = 2e-6
"""Part of a rate that is asked for beyond it, so that it is met within a solver's tolerance, where `start` has that."""


def best_mix(
    asked: AskedRows,
    weights: Floats,
    fleet: Sequence[GpuContents],
    contents: Sequence[Content],
    gpus: Mapping[str, int],
    start: Sequence[Content],
    *,
    time_limit_s: float,
    gap: float,
) -> list[Content] | None:
    """
    Returns the best whole numbers of known contents and of cut GPUs, one by one; None: none was found.

    Parameters
    ----------
    contents
        Of GPUs under MPS; of cut ones all are looked for (cut_program.py).
    gpus
        GPU type -> how many there are.
    start
        Such a choice. If nobody goes without in it, nobody may.
    """
    n = len(weights)
    more = np.where(asked.served_with(MORE, start), MORE, 0.0)
    without = 0.0 if asked.are_met_by(start) else inf
    model = mathopt.Model(name="contents")
    cut = cut_variables(model, fleet, gpus, asked.most)
    contents = [one for one in contents if not isinstance(one.gpu, CutGpu)]
    z = [model.add_integer_variable(lb=0) for _ in contents]
    rates, replicas = [one.rates(n) for one in contents], [one.replicas(n) for one in contents]
    missing = []
    for w in range(n):
        there = [
            (own[w] / asked.rate_rps[w], int(number[w]), x)
            for own, number, x in zip(rates, replicas, z, strict=True)
            if number[w]
        ]
        there += [(rps / asked.rate_rps[w], 1, x) for own in cut for rps, x in own.of_workload(w)]
        if asked.required_rps[w] and not asked.once[w]:
            missing.append(model.add_variable(lb=0.0, ub=without))
            carried = mathopt.LinearSum(float(rate) * x for rate, _, x in there)
            part = float(asked.required_rps[w] / asked.rate_rps[w] + more[w])
            model.add_linear_constraint(carried + missing[-1] >= part)
        placed = mathopt.LinearSum(number * x for _, number, x in there)
        if asked.least[w]:
            missing.append(model.add_variable(lb=0.0, ub=without))
            model.add_linear_constraint(placed + missing[-1] >= float(asked.least[w]))
        if asked.limited[w]:
            model.add_linear_constraint(placed <= float(asked.most[w]))
    for gpu, count in gpus.items():
        used = [x for one, x in zip(contents, z, strict=True) if one.gpu.gpu == gpu]
        used += [x for own in cut if own.of_type.gpu == gpu for x in own.cuts]
        model.add_linear_constraint(mathopt.LinearSum(used) <= count)
    value = [float(weights @ own) for own in rates]
    of_cut = [(weights[w] * rps, x) for own in cut for w in range(n) for rps, x in own.of_workload(w)]
    unit = max([*value, *(own for own, _ in of_cut)], default=0.0) or 1.0
    worth = mathopt.LinearSum(own / unit * x for own, x in [*zip(value, z, strict=True), *of_cut])
    model.maximize(worth - DEAR * mathopt.LinearSum(missing))
    known = {x: float(sum(one == own for own in start)) for one, x in zip(contents, z, strict=True)}
    for own in cut:
        known |= own.start(start)
    result = run_highs(model, time_limit_s, absolute_gap=None, gap=gap, start=known)
    if not result.has_primal_feasible_solution():
        return None
    best = result.variable_values()
    shared = [one for one, x in zip(contents, z, strict=True) for _ in range(round(best[x]))]
    return [*shared, *(one for own in cut for one in own.contents(best))]


def value_of(weights: Floats, contents: Sequence[Content]) -> float:
    """Returns what contents count together."""
    return float(sum(weights @ one.rates(len(weights)) for one in contents))


def rank_of(asked: AskedRows, weights: Floats, contents: Sequence[Content]) -> tuple[float, float]:
    """Returns what is greater of a better plan: fewer rates and replicas are missing, or as many, and more counts."""
    rest = asked.beside(contents)
    # However little of a rate: so a solver's tolerance is no gain.
    return -float(rest.free.sum()) - float(rest.least.sum()), value_of(weights, contents)
