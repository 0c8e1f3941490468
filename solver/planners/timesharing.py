"""
Turns on whole GPUs as gpu-lets' artefact schedules them ("Part": 0), its configuration `timesharing_only`.

It is not Nexus' algorithm and far weaker than that (`sbp`), so that a gain over it flatters gpu-lets. Its defects are
those of elastic partitioning (time_sharing/schedule.py).
"""

from .time_sharing.elastic import timesharing
from .time_sharing.of_problem import TurnsPlanner
from .time_sharing.services import Services
from .time_sharing.shares import Placement


class Timesharing(TurnsPlanner):
    """gpu-lets' scheduler without shares."""

    name = "timesharing"
    source = "gpu-lets (USENIX ATC 2022), source casys-kaist/glet, configuration timesharing_only"

    def placed(self, services: Services, gpus: int) -> Placement | None:
        return timesharing(services, gpus)


PLANNERS = (Timesharing(),)
