"""What every answer of the exact planner says: its bound, its prices, and why there is no plan."""

import time
from collections.abc import Iterable, Sequence
from math import ceil, log10

import numpy as np

from ...allocation.allocated import AllocatedGpu, MpsGpu
from ...allocation.assembly import UNKNOWN_BOUND, assemble, without_plan
from ...exact.proof import is_proof
from ...model.objective import COST
from ...model.plan import Bound, Plan, Prices, Search, SizePrice, Status, Unserved
from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ...runtime.interruption import offer

NAME = "exact"

RENT = 1e-9
"""Part of the cheapest GPU's price up to which a rent is rounding."""

NO_SETS = "no plan was found for what partitions carry together, which proves nothing; fewer requests/s may do"

DIGITS = 9
"""Decimals of slice prices, beyond the zeros of the cheapest GPU's price."""


def without(
    resolved: ResolvedProblem,
    search: Search,
    deadline: float,
    known: Iterable[Sequence[MpsGpu]] = (),
    bound: Bound = UNKNOWN_BOUND,
) -> Plan:
    """Says why there is no plan, as far as there is time; offers what can be said so far."""
    from ...exact.shedding.shortfall import shortfall

    def plan(unserved: Sequence[Unserved]) -> Plan:
        return without_plan(resolved, unserved, planner=NAME, search=search, bound=bound)

    return plan(
        shortfall(
            resolved,
            known=known,
            proven=search.stopped == StopReason.INFEASIBLE,
            on_answer=lambda unserved: offer(lambda _: plan(unserved)),
            time_limit_s=deadline - time.monotonic(),
        )
    )


def none_found(plan: Plan, resolved: ResolvedProblem, why: str = NO_SETS) -> Plan:
    """Returns an answer without a plan that says why, of all services."""
    unserved = tuple(Unserved(workload=one.name, reason=why) for one in resolved.problem.workloads)
    return plan.model_copy(update={"unserved": unserved})


def of_known(
    resolved: ResolvedProblem, gpus: Sequence[AllocatedGpu], search: Search, bound: Bound = UNKNOWN_BOUND
) -> Plan:
    """Returns a plan of known GPUs, for a search that ended before it had a better one; proven if the bound does."""
    return with_bound(assemble(resolved, gpus, planner=NAME, bound=UNKNOWN_BOUND, search=search), bound)


def with_bound(plan: Plan, bound: Bound) -> Plan:
    """Returns an answer with a bound that is no less than its own, and with what that says of its plan."""
    if plan.status is not Status.FEASIBLE:
        return plan.model_copy(update={"bound": bound})
    plan = plan.model_copy(update={"bound": bound, "gap": COST.gap(plan.cost_per_hour, bound.cost_per_hour)})
    if not is_proof(plan.cost_per_hour, bound.cost_per_hour):
        return plan
    proven = plan.search.model_copy(update={"stopped": StopReason.PROVED})
    return plan.model_copy(update={"search": proven, "status": Status.OPTIMAL})


def prices_of(resolved: ResolvedProblem, price: Floats, rent: Floats, shared: dict[str, float]) -> Prices:
    """
    Returns the prices of partitions, shape (size,), the rents, shape (fleet entry,), and the prices of GPUs under MPS.

    All are USD per hour.
    """
    cheapest = min(entry.price_per_hour for entry in resolved.fleet)
    digits = DIGITS + max(0, ceil(-log10(cheapest)))
    sizes = [
        SizePrice(gpu=size.gpu, mig_profile=size.kind, usd_per_hour=round(float(value), digits))
        for size, value in zip(resolved.sizes, price, strict=True)
        if value > 0
    ]
    rents = {entry.gpu.name: float(of_type) for entry, of_type in zip(resolved.fleet, rent, strict=True)}
    return Prices(
        sizes=tuple(sizes),
        rents={gpu: of_type if of_type > RENT * cheapest else 0.0 for gpu, of_type in rents.items()},
        shared={gpu: round(value, digits) for gpu, value in shared.items()},
    )


def slice_prices(resolved: ResolvedProblem, sizes: Ints, price: Floats, rent: Floats) -> Prices:
    """
    Returns prices of partitions and of GPUs under MPS, and rents; a whole GPU left out is worth a shared one.

    Parameters
    ----------
    sizes
        Numbers of the sizes that are priced; those without a price carry nothing.
    price
        Shape (size,), then of each type under MPS, USD per hour.
    rent
        Shape (fleet entry,).
    """
    shared = dict(zip(resolved.mps, price[len(sizes) :].tolist(), strict=True))
    of_size = np.array([shared.get(size.gpu, 0.0) if size.mig is None else 0.0 for size in resolved.sizes])
    of_size[sizes] = price[: len(sizes)]
    return prices_of(resolved, of_size, rent, shared)


def bound_of(resolved: ResolvedProblem, cost: float | None, method: str) -> Bound:
    """
    Returns the bound on the cost; on the number of GPUs too where all cost the same.

    A program that was ended before its first relaxation was solved gives one that is not above 0, which says nothing.
    """
    cost = cost if cost is not None and cost > 0 else None
    prices = {entry.price_per_hour for entry in resolved.fleet}
    gpus = round(cost / prices.pop()) if cost is not None and len(prices) == 1 else None
    return Bound(cost_per_hour=cost, gpus=gpus, method=method)
