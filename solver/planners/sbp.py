"""
Squishy bin packing on whole GPUs: Nexus (SOSP 2019, sec. 6.1), one GPU a bin (time_sharing/squishy.py).

Nexus states no safety factor on latencies, so none is taken. It knows neither neighbours nor shares.
"""

from .time_sharing.of_problem import TurnsPlanner
from .time_sharing.services import Services
from .time_sharing.shares import Placement
from .time_sharing.squishy import on_gpus, squishy_bins


class SquishyBinPacking(TurnsPlanner):
    """Nexus' planner."""

    name = "sbp"
    source = "squishy bin packing: Nexus (SOSP 2019), sec. 6.1, on whole GPUs"
    ratio = 1.0
    share = 100.0

    def needed_shares(self) -> tuple[float, ...]:
        return (self.share,)

    def placed(self, services: Services, gpus: int) -> Placement | None:
        bins = squishy_bins(services, self.share)
        if bins is None:
            return None
        placed = on_gpus(bins, self.share)
        return placed if len(placed) <= gpus else None


PLANNERS = (SquishyBinPacking(),)
