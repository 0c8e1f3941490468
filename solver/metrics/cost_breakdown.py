"""
Where the money of a plan goes: each GPU's price, spread over what its SMs are for.

Useful work
    What the services' required rates (headroom included) need of the SMs that they hold, at the greatest throughput
    that any operating point of the model reaches there, whatever its latency.
Over-provision
    Capacity beyond the required rate at the plan's own operating point.
Internal slack
    What the operating point leaves of that greatest throughput, as the SLO asks for small batches.
Kept free
    Partitions that serve nothing, kept for trouble.
Fragmentation
    SMs of used GPUs in no partition.

The five add up to the plan's cost. Over-provision and internal slack and what is kept free are together the internal
slack of solver/metrics/plan_metrics.py, which also says what SMs and greatest throughput are; on a fleet of several GPU
types that one counts SMs alike, while here they cost what their GPU costs.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..model.plan import Plan
from ..model.prices import usd_per_hour_of
from ..model.problem import Problem
from ..model.profile import Profile
from .compute_use import allocated, reachable_rps, whole_sms
from .plan_columns import plan_columns


@dataclass(frozen=True)
class CostBreakdown:
    """What a plan costs per hour in USD, by what it is paid for."""

    useful: float
    over_provision: float
    internal_slack: float
    kept_free: float
    fragmentation: float


def cost_breakdown(problem: Problem, plan: Plan, profiles: Iterable[Profile]) -> CostBreakdown | None:
    """Returns where a plan's money goes; None if it uses no GPU, or a price is not known."""
    prices = usd_per_hour_of(problem)
    paid = [prices.get(gpu.gpu) for gpu in plan.gpus]
    if not plan.gpus or None in paid:
        return None
    columns = plan_columns(problem, plan)
    sms = allocated(columns)
    whole = np.array([whole_sms(gpu.gpu, gpu.sharing) for gpu in plan.gpus])
    # A planner may give away more of a GPU than there is; its partitions then cost what the GPU costs, together.
    given = np.bincount(columns.gpu, weights=sms, minlength=len(whole))
    price = np.array(paid, dtype=np.float64)
    usd = sms * (price / np.maximum(whole, given))[columns.gpu]

    reachable = reachable_rps(columns, problem.profiles_over(profiles))
    count = len(columns.partitions)
    used = np.minimum(1.0, np.bincount(columns.partition, weights=columns.rate_rps / reachable, minlength=count))
    able = np.minimum(1.0, np.bincount(columns.partition, weights=columns.capacity_rps / reachable, minlength=count))
    able = np.maximum(able, used)
    serves = np.bincount(columns.partition, minlength=count) > 0
    return CostBreakdown(
        useful=float(usd @ used),
        over_provision=float(usd @ (able - used)),
        internal_slack=float(usd[serves] @ (1 - able[serves])),
        kept_free=float(usd[~serves].sum()),
        fragmentation=max(0.0, float(price.sum() - usd.sum())),
    )
