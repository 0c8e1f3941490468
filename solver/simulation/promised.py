"""What a plan promises, where the settings do not ask for anything else: which quantile, how dealt and batched."""

from dataclasses import replace

from ..model.plan import Plan
from .batching.as_planned import AsPlanned
from .batching.greedy import Greedy
from .batching.policy import BatchingPolicy
from .dispatch.dealing import Dealing
from .dispatch.registry import DISPATCHES
from .dispatch.weighted_round_robin import WeightedRoundRobin
from .settings import SimulationSettings

QUANTILE = 0.99
"""Where no percentile is promised."""


def as_promised(plan: Plan, settings: SimulationSettings) -> SimulationSettings:
    """Returns the settings with the plan's dispatch and batching where they have none."""
    return replace(settings, dealing=settings.dealing or _dealing(plan), batching=settings.batching or _batching(plan))


def _batching(plan: Plan) -> BatchingPolicy:
    served = (one for gpu in plan.gpus for partition in gpu.partitions for one in partition.serves)
    return AsPlanned() if any(one.dispatch_after_ms for one in served) else Greedy()


def _dealing(plan: Plan) -> Dealing:
    return DISPATCHES.get(planned_for(plan) or "", WeightedRoundRobin())


def promised_quantile(plan: Plan) -> float:
    """Returns the quantile that a plan promises for services without one of their own."""
    return (plan.promise.quantile if plan.promise is not None else None) or QUANTILE


def quantile_of(plan: Plan, settings: SimulationSettings, service: str) -> float:
    """Returns the share of a service's requests that must be in time."""
    if settings.quantile is not None:
        return settings.quantile
    own = {} if plan.promise is None else plan.promise.quantiles
    return own.get(service, promised_quantile(plan))


def planned_for(plan: Plan) -> str | None:
    """Returns how requests must be dealt for what a plan promises; None: in any way."""
    return None if plan.promise is None else plan.promise.dispatch
