"""What the exact search of a fleet with GPUs under MPS finds and proves."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...allocation.allocated import AllocatedGpu
from ...performance.resolve import ResolvedProblem
from ..proof import Ended
from .fleet_by_prices import FleetPrices


@dataclass(frozen=True)
class FleetAnswer:
    """The GPUs chosen, and what is proven about their cost."""

    stopped: Ended
    solver: str
    cost_bound: float | None
    method: str
    gpus: list[AllocatedGpu] | None
    """None: no plan was found."""
    prices: FleetPrices | None = None
    """The prices of partitions and of GPUs under MPS; None: none were looked for."""


def price_of(resolved: ResolvedProblem, plan: Sequence[AllocatedGpu]) -> float:
    """Returns the USD per hour of these GPUs."""
    return sum(resolved.fleet_by_name[gpu.gpu].price_per_hour for gpu in plan)
