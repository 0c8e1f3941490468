"""
Plans with partitions kept free, that are built and not searched: covers first, then the cuts for all of it.

Every service keeps the cover that it has in a plan without free partitions. What it takes if it needs more rate is a
cover of what is missing then, of the size that all can share best. Where its replicas leave no room for that, it has
its cheapest cover of the greater rate, of which as much as the rate of today can spare is what is kept free. With n_wk
and e_wk settled, the worst cases are numbers W_k (spare_capacity.py), and what is left is a program over sizes and cuts
alone, of the same few rows at any number of services:

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
from ..covers.covers import cheapest_covers
from ..covers.demands import NO_LIMIT, Demands
from ..dual.lagrangian_data import demands_of, supply_of
from ..mig.cutting_stock import CuttingStockAnswer
from ..mig.patterns import Pattern, patterns_of
from ..mig.spare_capacity import KeptFree, SpareRules, add_room_for_a_lost_gpu, worst_case
from ..mps.program import NO_SHARES

ENOUGH = 1e-9
"""Part of a rate that may be missing by rounding."""


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
    own = partitions.copy()
    extra = _extra_partitions(resolved, rules, own, price) if rules.services else np.zeros_like(own)
    if extra is None:
        return None
    patterns = [pattern for entry in resolved.fleet for pattern in patterns_of(resolved, entry, every=rules.gpu_loss)]
    least_free = worst_case(extra, rules.services)
    found = cheapest_cuts(resolved, patterns, own.sum(axis=0), least_free, rules.gpu_loss, time_limit_s=time_limit_s)
    if found is None:
        return None
    times, free = found
    used = tuple((pattern, int(number)) for pattern, number in zip(patterns, times, strict=True) if number)
    solver = "free partitions beside given covers: HiGHS through MathOpt"
    return CuttingStockAnswer(StopReason.TIME_LIMIT, solver, None, used, own, NO_SHARES, KeptFree(extra, free))


def cheapest_partitions(resolved: ResolvedProblem, price: Floats) -> Ints:
    """Returns a cheapest cover of each workload at these prices, shape (workload, size)."""
    sizes = np.flatnonzero(resolved.capacity_rps.any(axis=0))
    partitions = np.zeros(resolved.capacity_rps.shape, dtype=np.int64)
    partitions[:, sizes] = cheapest_of_each(demands_of(replace(resolved, mps={}), sizes), price[sizes])
    return partitions


def _extra_partitions(resolved: ResolvedProblem, rules: SpareRules, own: Ints, price: Floats) -> Ints | None:
    """Returns e, shape (workload, size); takes from `own` what it may not have beside. None: replicas are too few."""
    sizes = np.flatnonzero(resolved.capacity_rps.any(axis=0))
    demands = demands_of(resolved, sizes)
    part = resolved.capacity_rps[:, sizes] / resolved.required_rps[:, None]
    missing = 1 + rules.rate - (own[:, sizes] * part).sum(axis=1)
    room = np.where(demands.most == NO_LIMIT, NO_LIMIT, demands.most - own.sum(axis=1))
    short = missing > ENOUGH
    fits = short & (part.max(axis=1) * np.minimum(room, 1e9) >= missing)
    beside = np.flatnonzero(fits)
    wanted = Demands(np.minimum(part[beside] / missing[beside, None], 1.0), np.zeros_like(beside), room[beside])
    extra = np.zeros_like(own)
    extra[np.ix_(beside, sizes)] = _least_worst(wanted, price[sizes], rules.services)
    for w in np.flatnonzero(short & ~fits).tolist():
        grown = np.minimum(part[[w]] / (1 + rules.rate), 1.0)
        if grown.max() * min(float(demands.most[w]), 1e9) < 1:
            return None
        own[w] = 0
        own[w, sizes] = cheapest_of_each(Demands(grown, demands.least[[w]], demands.most[[w]]), price[sizes])[0]
        extra[w] = _spared(resolved, w, own[w], price)
    return extra


def _least_worst(demands: Demands, price: Floats, services: int) -> Ints:
    """
    Returns a cover of each workload, shape (workload, size), so that any `services` of them together are cheap.

    If all take the same size, few partitions serve whoever comes; so each size alone is tried for those that it can
    serve, beside everyone's cheapest cover.
    """
    cheapest = cheapest_of_each(demands, price)
    tried = [cheapest]
    for k in range(len(price)):
        with np.errstate(divide="ignore"):
            needed = np.ceil(1 / demands.part[:, k] - ENOUGH)
        alone = cheapest.copy()
        can = np.flatnonzero(needed <= np.minimum(demands.most, 1e9))
        alone[can] = 0
        alone[can, k] = needed[can].astype(np.int64)
        tried.append(alone)
    return min(tried, key=lambda covers: float(worst_case(covers, services) @ price))


def cheapest_of_each(demands: Demands, price: Floats) -> Ints:
    """Returns a cheapest cover of each workload, shape (workload, size)."""
    if not len(demands.least):
        return np.zeros(demands.part.shape, dtype=np.int64)
    covers = cheapest_covers(demands, price)
    return covers.counts[covers.first()]


def _spared(resolved: ResolvedProblem, w: int, own: Ints, price: Floats) -> Ints:
    """Takes from a cover what the rate of today does not need, dearest first; returns what was taken."""
    capacity, required = resolved.capacity_rps[w], float(resolved.required_rps[w])
    taken = np.zeros_like(own)
    for k in sorted(np.flatnonzero(own).tolist(), key=lambda k: -price[k]):
        over = float(own @ capacity) - required
        beyond = int(own.sum()) - resolved.problem.workloads[w].min_replicas
        taken[k] = max(min(int(own[k]), int(over / capacity[k] + ENOUGH), beyond), 0)
        own[k] -= taken[k]
    return taken


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
