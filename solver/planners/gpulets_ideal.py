"""
gpu-lets' "ideal": its scheduler on every division of every GPU, the first that works (`full_search` of its source).

It is no optimum: the heuristic may fail on each division where elastic partitioning, which divides as it goes, finds a
plan. There are 4^N divisions of N GPUs, so it stops at 4.
"""

from .time_sharing.elastic import ideal
from .time_sharing.of_problem import TurnsPlanner
from .time_sharing.services import Services
from .time_sharing.shares import Placement


class GpuletsIdeal(TurnsPlanner):
    """gpu-lets' scheduler on all divisions."""

    name = "gpulets-ideal"
    source = "gpu-lets (USENIX ATC 2022), full_search of the source casys-kaist/glet; up to 4 GPUs"
    most_gpus = 4

    def placed(self, services: Services, gpus: int) -> Placement | None:
        return ideal(services, gpus)


PLANNERS = (GpuletsIdeal(),)
