"""
The latency rule as `check` states it, on purpose a second time: a planner's rule is solver/performance/latency_rules.

execution: a batch takes at most slo_fraction of the SLO, and a partition at most its throughput.
"""

from typing import TypeVar

from ..metrics.plan_columns import Floats
from ..model.problem import Settings

Times = TypeVar("Times", float, Floats)


def execution_may_take_ms(settings: Settings, slo_ms: Times) -> Times:
    """Returns the part of an SLO, or of each, that execution may take."""
    return slo_ms * settings.slo_fraction
