"""
gpu-lets' elastic partitioning without interference, as its artefact does it (time_sharing/elastic.py).

A GPU is one gpu-let or two of 50:50, 60:40 or 80:20 under MPS; up to three services take turns on each. The published
defects are kept (`Defects` of time_sharing/schedule.py switches each off): so a service that asks for 15 requests/s or
less gets nothing, and whether the rates can be scheduled is not monotone in them.

It is given a number of GPUs; here it is called with one more until it succeeds.
"""

from .time_sharing.elastic import elastic
from .time_sharing.of_problem import TurnsPlanner
from .time_sharing.schedule import PUBLISHED
from .time_sharing.services import Services
from .time_sharing.shares import Placement


class Gpulets(TurnsPlanner):
    """gpu-lets' elastic partitioning."""

    name = "gpulets"
    source = "gpu-lets (USENIX ATC 2022), elastic partitioning, source casys-kaist/glet"
    defects = PUBLISHED

    def placed(self, services: Services, gpus: int) -> Placement | None:
        return elastic(services, gpus, self.defects)


PLANNERS = (Gpulets(),)
