"""A problem as lagrangian_dual.py wants it: how GPUs may be cut, and what covers a workload."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...model.plan import Plan, Start
from ...performance.alone import alone_on
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ..covers.demands import NO_LIMIT, Demands
from ..covers.shared_rates import SharedRates
from ..mig.patterns import Pattern, patterns_of
from ..mps.fluid_shares import fluid_of
from .supply import Supply


@dataclass(frozen=True, eq=False)
class LagrangianData:
    """How GPUs may be cut, and what covers the workloads, by the sizes that carry something."""

    patterns: list[Pattern]
    sizes: Ints
    """Their numbers among those of the problem."""
    supply: Supply
    demands: Demands


def lagrangian_data(resolved: ResolvedProblem) -> LagrangianData:
    """Returns a problem with the maximal cuts of all GPU types."""
    patterns = [pattern for entry in resolved.fleet for pattern in patterns_of(resolved, entry)]
    sizes = np.flatnonzero(resolved.capacity_rps.any(axis=0))
    return LagrangianData(patterns, sizes, supply_of(resolved, patterns, sizes), demands_of(resolved, sizes))


def supply_of(resolved: ResolvedProblem, patterns: Sequence[Pattern], sizes: Ints) -> Supply:
    """Returns the cuts that these patterns make, with the sizes in this order, and then the GPUs under MPS."""
    number = {entry.gpu.name: g for g, entry in enumerate(resolved.fleet)}
    of_size = [resolved.sizes[k] for k in sizes]
    shared = list(resolved.mps)
    instances = np.zeros((len(patterns) + len(shared), len(sizes) + len(shared)), dtype=np.int64)
    for q, pattern in enumerate(patterns):
        instances[q, : len(sizes)] = [
            pattern.profiles.count(size.name) if size.gpu == pattern.gpu else 0 for size in of_size
        ]
    instances[len(patterns) :, len(sizes) :] = np.eye(len(shared), dtype=np.int64)
    types = [*(pattern.gpu for pattern in patterns), *shared]
    return Supply(
        instances,
        np.array([number[gpu] for gpu in types], dtype=np.int64),
        np.array([resolved.fleet_by_name[gpu].price_per_hour for gpu in types]),
        np.array([np.inf if entry.available is None else float(entry.available) for entry in resolved.fleet]),
    )


def demands_of(resolved: ResolvedProblem, sizes: Ints) -> Demands:
    """Returns what partitions of these sizes, and GPUs under MPS, carry of each workload's rate."""
    workloads = resolved.problem.workloads
    capacity = resolved.capacity_rps[:, sizes]
    least = np.array([workload.min_replicas for workload in workloads], dtype=np.int64)
    most = np.array([workload.max_replicas or NO_LIMIT for workload in workloads], dtype=np.int64)
    return Demands(
        np.minimum(capacity / resolved.required_rps[:, None], 1.0),
        least,
        most,
        shared_rates(resolved),
        _kinds(capacity, least, most),
    )


def shared_rates(resolved: ResolvedProblem, rate: float = 1.0) -> SharedRates | None:
    """Returns what a multiple of each rate takes of GPUs under MPS; None: there are none."""
    if not resolved.mps:
        return None
    fluid = fluid_of(resolved, rate)
    units = np.array([float(mps.capacity_units) for mps in resolved.mps.values()])
    return SharedRates(fluid.gpus, fluid.least, units)


def _kinds(capacity: Floats, least: Ints, most: Ints) -> Ints:
    """Returns for each workload the number of its kind, all but its rate the same; kinds are in order of their rows."""
    rows = np.column_stack([capacity, least, np.minimum(most, 2**52)])
    order = np.lexsort(rows.T[::-1])  # a quarter of the time of np.unique on rows
    in_order = rows[order]
    kinds = np.zeros(len(rows), dtype=np.int64)
    kinds[order[1:]] = np.cumsum((in_order[1:] != in_order[:-1]).any(axis=1))
    return kinds


def most_to_pay(resolved: ResolvedProblem) -> float:
    """
    Returns what a cheapest plan costs at most, if there is one.

    All limited GPUs; every workload that an unlimited type can serve alone, on as many GPUs as it has partitions; and
    for those that need limited GPUs too, as many of the dearest unlimited ones of use to them as they allow replicas.
    """
    limited = {entry.gpu.name: entry.available is not None for entry in resolved.fleet}
    price = {entry.gpu.name: entry.price_per_hour for entry in resolved.fleet}
    most = float(sum(entry.available * entry.price_per_hour for entry in resolved.fleet if entry.available is not None))
    free = [k for k, size in enumerate(resolved.sizes) if not limited[size.gpu]]
    columns = [resolved.capacity_rps[:, free]]
    prices = [price[resolved.sizes[k].gpu] for k in free]
    for gpu, mps in resolved.mps.items():
        if not limited[gpu]:
            columns.append(alone_on(mps, resolved.limit_ms).greatest_rps[:, None])
            prices.append(price[gpu])
    if not prices:
        return most
    capacity_rps, price_of = np.concatenate(columns, axis=1), np.array(prices)
    with np.errstate(divide="ignore"):
        copies = np.ceil(resolved.required_rps[:, None] / capacity_rps)
    workloads = resolved.problem.workloads
    least = np.array([workload.min_replicas for workload in workloads])[:, None]
    allowed = np.array([workload.max_replicas or np.inf for workload in workloads])[:, None]
    alone = np.min(np.where(copies <= allowed, np.maximum(copies, least) * price_of, np.inf), axis=1)
    beside = np.flatnonzero(np.isinf(alone) & (capacity_rps > 0).any(axis=1))
    dearest = np.max(np.where(capacity_rps[beside] > 0, price_of, 0.0), axis=1, initial=0.0)
    return most + float(alone[np.isfinite(alone)].sum() + (allowed[beside, 0] * dearest).sum())


def known_covers(resolved: ResolvedProblem, start: Start, sizes: Ints) -> Ints | None:
    """Returns the partitions of these sizes that the plan to begin with has for each workload; None: there is none."""
    if not isinstance(start, Plan):
        return None
    row = {workload.name: w for w, workload in enumerate(resolved.problem.workloads)}
    of_size = [resolved.sizes[k] for k in sizes]
    column = {(size.gpu, size.kind): k for k, size in enumerate(of_size)}
    covers = np.zeros((len(row), len(of_size)), dtype=np.int64)
    for gpu in start.gpus:
        for partition in gpu.partitions:
            k = column.get((gpu.gpu, partition.kind)) if partition.sm_percent is None else None
            for served in partition.serves:
                w = row.get(served.workload)
                if k is not None and w is not None:
                    covers[w, k] += 1
    return covers


def known_prices(resolved: ResolvedProblem, start: Start, sizes: Ints) -> Floats | None:
    """Returns the prices to begin with of these sizes and of the GPUs under MPS; None: some are not known."""
    prices_of = start.prices if isinstance(start, Plan) else start
    if prices_of is None:
        return None
    known = {(one.gpu, one.mig_profile): one.usd_per_hour for one in prices_of.sizes}
    of_size = [resolved.sizes[k] for k in sizes]
    prices = [known.get((size.gpu, size.kind)) for size in of_size]
    prices += [prices_of.shared.get(gpu) for gpu in resolved.mps]
    return None if None in prices else np.array(prices, dtype=np.float64)
