"""
What each service costs: the slice prices of the exact planner (exact/dual/lagrangian_dual.py) applied to a plan.

A partition of a size has a shadow price: what one more of it would add to the least cost, had it not to come in whole
GPUs. Prices are the same for all services, so the partitions of a plan can be paid for by them:

    share of w = cost * sum_k price_k n_wk / sum_vk price_k n_vk

The prices of all partitions together are at most the cost and the rents of scarce GPU types. The rest is what buying
whole GPUs adds (room that nobody uses, and rounding to whole GPUs). It is spread in proportion, and so is a rent, which
nobody is paid; so the shares add up to the cost exactly.

A share of a GPU under MPS costs its part of the price of all of the GPU. What a service takes there is priced as alone
on its GPU (exact/mps/fluid_shares.py), so what neighbours cost it is in the rest that is spread.

A changed rate or SLO is priced at today's prices: exact while the change is small beside the fleet.

Where what a service's partitions carry is no sum, covers are those of the looser problem that proves the bound
(performance/loosest.py): what a service costs at least, and not always what it can be had for.
"""

from collections.abc import Sequence

import numpy as np

from ..exact.covers.covers import Covers, cheapest_covers
from ..exact.covers.demands import NO_LIMIT, Demands
from ..exact.dual.lagrangian_data import shared_rates
from ..model.plan import Plan, Prices
from ..model.price_report import PriceReport, ServiceCost
from ..model.problem import Problem
from ..model.profile import Profile
from ..performance.interference.prediction import Floats, Ints
from ..performance.loosest import loosest
from ..performance.resolve import ResolvedProblem, resolve

CHANGE = 0.1
"""By how much a rate rises or an SLO falls."""

NEXT_BEST = 0.5
"""Next best partitions are looked for up to this much dearer than the best."""


def price_report(problem: Problem, plan: Plan, profiles: Sequence[Profile]) -> PriceReport | None:
    """Returns the cost of every service; None: the plan has no slice prices, or no GPUs."""
    if plan.prices is None or plan.cost_per_hour is None:
        return None
    resolved = loosest(resolve(problem, profiles))
    price = prices_of(resolved, plan.prices)
    sizes = _priced_sizes(resolved, price)
    paid = _paid(resolved, plan, plan.prices)
    share = plan.cost_per_hour * paid / paid.sum()
    rents = sum(plan.prices.rents.get(gpu.gpu, 0.0) for gpu in plan.gpus)
    at = np.concatenate([price[sizes], price[len(resolved.sizes) :]])
    covers = cheapest_covers(_demands(resolved, sizes), at, NEXT_BEST)
    shorter = tuple(w.model_copy(update={"slo_ms": w.slo_ms * (1 - CHANGE)}) for w in problem.workloads)
    tighter = resolve(problem.model_copy(update={"workloads": shorter}), profiles)
    slo_down = least_costs(tighter, price)
    rate_up = least_costs(resolved, price, 1 + CHANGE)
    move, to = _moves(covers, at)
    taken = covers.taken
    names = [*(_size_name(resolved, int(k)) for k in sizes), *(f"{gpu} under MPS" for gpu in resolved.mps)]
    services = [
        ServiceCost(
            workload=workload.name,
            usd_per_hour=float(share[w]),
            usd_per_million_requests=float(share[w] / (resolved.required_rps[w] * 3600) * 1e6),
            marginal_usd_per_hour=_usd(covers.floor[w]),
            rate_up_usd_per_hour=_added(rate_up[w], covers.floor[w]),
            slo_down_usd_per_hour=_added(slo_down[w], covers.floor[w]),
            move_usd_per_hour=_usd(move[w]) if to[w] >= 0 else None,
            move_to=_named(taken[to[w]], names) if to[w] >= 0 else None,
        )
        for w, workload in enumerate(problem.workloads)
    ]
    return PriceReport(
        cost_per_hour=plan.cost_per_hour,
        unattributed_usd_per_hour=_usd(plan.cost_per_hour + rents - paid.sum()),
        services=tuple(services),
    )


def prices_of(resolved: ResolvedProblem, prices: Prices) -> Floats:
    """
    Returns the price of each partition size of a problem, then of all of a GPU of each type under MPS; 0: unknown.

    Shape (size + type under MPS,).
    """
    known = {(one.gpu, one.mig_profile): one.usd_per_hour for one in prices.sizes}
    sizes = [known.get((size.gpu, size.kind), 0.0) for size in resolved.sizes]
    return np.array([*sizes, *(prices.shared.get(gpu, 0.0) for gpu in resolved.mps)])


def least_costs(resolved: ResolvedProblem, price: Floats, rate: float = 1.0) -> Floats:
    """
    Returns what each workload's cheapest partitions cost at a multiple of its rate, shape (workload,); nan: none.

    `price` is that of `prices_of`.
    """
    resolved = loosest(resolved)
    sizes = _priced_sizes(resolved, price)
    demands = _demands(resolved, sizes, rate)
    can = (demands.part > 0).any(axis=1)
    if demands.shared is not None:
        can |= np.isfinite(demands.shared.gpus).any(axis=1)
    served = np.flatnonzero(can)
    cost = np.full(len(resolved.required_rps), np.nan)
    at = np.concatenate([price[sizes], price[len(resolved.sizes) :]])
    cost[served] = cheapest_covers(demands.of(served), at).floor
    return cost


def _priced_sizes(resolved: ResolvedProblem, price: Floats) -> Ints:
    return np.flatnonzero(price[: len(resolved.sizes)] > 0)


def _paid(resolved: ResolvedProblem, plan: Plan, prices: Prices) -> Floats:
    """Returns what the partitions of each service cost at the prices, shape (workload,)."""
    known = {(one.gpu, one.mig_profile): one.usd_per_hour for one in prices.sizes}
    all_of_it = {gpu: mps.percent_of(max(mps.capacity_units, 1)) for gpu, mps in resolved.mps.items()}
    per_percent = {gpu: prices.shared.get(gpu, 0.0) / percent for gpu, percent in all_of_it.items()}
    number = {workload.name: w for w, workload in enumerate(resolved.problem.workloads)}
    paid = np.zeros(len(number))
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            price = known.get((gpu.gpu, partition.kind), 0.0)
            if partition.sm_percent is not None:
                price = per_percent.get(gpu.gpu, 0.0) * partition.sm_percent
            for served in partition.serves:
                paid[number[served.workload]] += price
    return paid


def _demands(resolved: ResolvedProblem, sizes: Ints, rate: float = 1.0) -> Demands:
    """Returns the demands at a multiple of the rates, over some sizes."""
    workloads = resolved.problem.workloads
    most = np.array([workload.max_replicas or NO_LIMIT for workload in workloads], dtype=np.int64)
    at_rate = resolved.at_rates(resolved.required_rps * rate)
    part = np.minimum(at_rate.capacity_rps[:, sizes] / at_rate.required_rps[:, None], 1.0)
    # A limit on replicas that more rate would break is lifted, so that the change has a price at all.
    with np.errstate(divide="ignore"):
        needed = np.ceil(np.min(1 / part, axis=1, initial=np.inf, where=part > 0))
    most = np.where(needed > most, NO_LIMIT, most)
    least = np.array([workload.min_replicas for workload in workloads], dtype=np.int64)
    return Demands(part, least, most, shared_rates(resolved, rate))


def _moves(covers: Covers, price: Floats) -> tuple[Floats, Ints]:
    """Returns how much dearer each workload's second cover is, and its position; -1: there is none."""
    cost = covers.taken @ price
    order = np.lexsort((cost, covers.workload))
    first = covers.first()
    number = np.diff(np.append(first, len(order)))
    has = number > 1
    to = np.full(len(first), -1, dtype=np.int64)
    to[has] = order[first[has] + 1]
    move = np.zeros(len(first))
    move[has] = np.maximum(cost[to[has]] - cost[order[first[has]]], 0.0)
    return move, to


def _added(cost: float, now: float) -> float | None:
    """Returns what a change adds to the cost; None: nothing could serve the workload then."""
    return None if np.isnan(cost) else _usd(cost - now)


def _usd(amount: float) -> float:
    """Returns an amount without the rounding of the arithmetic: a nanodollar counts as nothing."""
    return round(float(amount), 9) + 0.0


def _named(taken: Ints | Floats, names: Sequence[str]) -> dict[str, int | float]:
    """Returns what a cover takes: whole numbers of partitions, parts of GPUs under MPS."""
    rounded = ((name, round(float(amount), 6)) for name, amount in zip(names, taken, strict=True) if amount)
    return {name: int(amount) if amount.is_integer() else amount for name, amount in rounded}


def _size_name(resolved: ResolvedProblem, k: int) -> str:
    size = resolved.sizes[k]
    return f"{size.gpu} {size.kind}" if size.kind else size.gpu
