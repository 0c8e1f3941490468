"""What a plan promises, where the settings do not ask for anything else: which quantile, with which dispatch."""

from dataclasses import replace

from ..model.plan import Plan
from .dispatch.dealing import Dealing
from .dispatch.registry import DISPATCHES
from .dispatch.weighted_round_robin import WeightedRoundRobin
from .settings import SimulationSettings

QUANTILE = 0.99
"""Where no percentile is promised."""


def as_promised(plan: Plan, settings: SimulationSettings) -> SimulationSettings:
    """Returns the settings with the plan's dispatch where they have none."""
    return settings if settings.dealing is not None else replace(settings, dealing=_dealing(plan))


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
