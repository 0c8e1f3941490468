"""
Guided self-tuning as gpu-lets compares with it (`greedy_part` of its source): the smallest share that carries the rest.

Nobody takes turns, neighbours are not known, and the wait for a batch is held against the SLO on a whole GPU only:
most of its claims break SLOs where the cycle is kept.
"""

from .time_sharing.elastic import self_tuning
from .time_sharing.of_problem import TurnsPlanner
from .time_sharing.services import Services
from .time_sharing.shares import Placement


class SelfTuning(TurnsPlanner):
    """gpu-lets' port of GSLICE's idea."""

    name = "self-tuning"
    source = "guided self-tuning: gpu-lets (USENIX ATC 2022), greedy_part of the source casys-kaist/glet"

    def placed(self, services: Services, gpus: int) -> Placement | None:
        return self_tuning(services, gpus)


PLANNERS = (SelfTuning(),)
