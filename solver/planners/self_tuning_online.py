"""
Self-tuning as GSLICE does it online, in gpu-lets' port: share and batch of each service follow what a period shows.

Nobody takes turns, neighbours are not known, and no wait for a batch is held against the SLO: most of its claims break
SLOs where the cycle is kept. iGniter's port, on its own placement and tuned against its model, is `gslice`.
"""

from .time_sharing.of_problem import TurnsPlanner
from .time_sharing.online_tuning import tuned_online
from .time_sharing.services import Services
from .time_sharing.shares import Placement


class SelfTuningOnline(TurnsPlanner):
    """gpu-lets' port of GSLICE's rule."""

    name = "self-tuning-online"
    source = "GSLICE (SoCC 2020) as gpu-lets ports it: self_tuning.cpp of the source casys-kaist/glet"

    def placed(self, services: Services, gpus: int) -> Placement | None:
        return tuned_online(services, gpus)


PLANNERS = (SelfTuningOnline(),)
