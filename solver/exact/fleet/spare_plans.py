"""
Plans with partitions kept free, that are built and not searched: covers first, then the cuts for all of it.

With n_wk and e_wk settled (spare_covers.py), the worst cases are numbers W_k (spare_capacity.py), and what is left is a
program over sizes and cuts alone, of the same few rows at any number of services:

    min   sum_q c_q x_q
    s.t.  sum_q a_kq x_q >= sum_w n_wk + F_k,   F_k >= W_k                   for every size k
          F_k has room for a lost GPU, as there                              where one may be lost
          sum_{q of g} x_q <= N_g                                            for every GPU type g
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from ortools.math_opt.python import mathopt

from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ..backends.highs import run_highs
from ..dual.lagrangian_data import supply_of
from ..mig.cutting_stock import CuttingStockAnswer
from ..mig.patterns import Pattern, patterns_of
from ..mig.spare_capacity import add_room_for_a_lost_gpu
from ..mig.spare_rules import KeptFree, SpareRules, worst_case
from ..mps.program import NO_SHARES
from .spare_covers import covers_with_spares


def built_with_spares(
    resolved: ResolvedProblem,
    rules: SpareRules,
    partitions: Ints,
    price: Floats,
    *,
    time_limit_s: float,
) -> CuttingStockAnswer | None:
    """
    Returns a plan with free partitions; None: with these covers none was found.

    Parameters
    ----------
    partitions
        Shape (workload, size): covers without free partitions.
    price
        Shape (size,): USD per hour of a partition; above 0 where some workload can use the size.
    """
    covers = covers_with_spares(resolved, rules, partitions, price)
    if covers is None:
        return None
    own, extra = covers
    patterns = [pattern for entry in resolved.fleet for pattern in patterns_of(resolved, entry, every=rules.gpu_loss)]
    least_free = worst_case(extra, rules.services)
    found = cheapest_cuts(resolved, patterns, own.sum(axis=0), least_free, rules.gpu_loss, time_limit_s=time_limit_s)
    if found is None:
        return None
    times, free = found
    used = tuple((pattern, int(number)) for pattern, number in zip(patterns, times, strict=True) if number)
    solver = "free partitions beside given covers: HiGHS through MathOpt"
    return CuttingStockAnswer(StopReason.TIME_LIMIT, solver, None, used, own, NO_SHARES, KeptFree(extra, free))


def cheapest_cuts(
    resolved: ResolvedProblem,
    patterns: Sequence[Pattern],
    wanted: Ints,
    least_free: Ints,
    gpu_loss: bool = False,
    *,
    time_limit_s: float,
) -> tuple[Ints, Ints] | None:
    """
    Returns how many GPUs are cut in each way, and the free partitions of each size; None: no GPUs were found.

    Parameters
    ----------
    wanted, least_free
        Shape (size,): partitions that are in use, and that are to be free at least.
    gpu_loss
        Whether there is to be room for a lost GPU.
    """
    sizes = np.arange(len(resolved.sizes))
    supply = supply_of(replace(resolved, mps={}), patterns, sizes)
    greatest = supply.instances.max(axis=0, initial=0) if gpu_loss else np.zeros_like(wanted)
    most = wanted + np.maximum(least_free, greatest)
    model = mathopt.Model(name="cuts_with_spares")
    x = [model.add_integer_variable(lb=0, name=f"x_{q}") for q in range(len(patterns))]
    free = [
        model.add_integer_variable(lb=float(least), ub=float(most[k]), name=f"F_{k}")
        for k, least in enumerate(least_free)
    ]
    for k in sizes:
        cut = mathopt.LinearSum(int(supply.instances[q, k]) * x[q] for q in np.flatnonzero(supply.instances[:, k]))
        model.add_linear_constraint(cut - free[k] >= float(wanted[k]), name=f"cut_{k}")
    for g in np.flatnonzero(np.isfinite(supply.available)):
        of_type = mathopt.LinearSum(x[q] for q in np.flatnonzero(supply.gpu_type == g))
        model.add_linear_constraint(of_type <= float(supply.available[g]), name=f"count_{g}")
    if gpu_loss:
        cuts = list(zip(supply.instances.tolist(), x, strict=True))
        add_room_for_a_lost_gpu(model, cuts, dict(enumerate(free)), float(most.sum()))
    model.minimize(mathopt.LinearSum(float(cost) * variable for cost, variable in zip(supply.cost, x, strict=True)))
    result = run_highs(model, time_limit_s, absolute_gap=float(supply.cost.min()) * 0.999)
    if not result.has_primal_feasible_solution():
        return None
    values = result.variable_values()
    times = np.array([round(values[variable]) for variable in x], dtype=np.int64)
    return times, np.array([round(values[variable]) for variable in free], dtype=np.int64)
