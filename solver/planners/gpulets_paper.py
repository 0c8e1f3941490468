"""
gpu-lets' Algorithm 1 as its preprint prints it (arXiv 2109.01611, sec. 4.3), with its linear model of interference.

The source that was published does otherwise (gpulets.py, gpulets_int.py). What the paper leaves open is said in
time_sharing/algorithm_one.py. What neighbours that come later do to a service is not looked at again.
"""

from .time_sharing.algorithm_one import algorithm_one
from .time_sharing.of_problem import TurnsPlanner
from .time_sharing.services import Services
from .time_sharing.shares import Placement


class GpuletsPaper(TurnsPlanner):
    """gpu-lets' Algorithm 1."""

    name = "gpulets-paper"
    source = "gpu-lets (arXiv 2109.01611), Algorithm 1 as printed"
    interferes = True

    def placed(self, services: Services, gpus: int) -> Placement | None:
        return algorithm_one(services, gpus)


PLANNERS = (GpuletsPaper(),)
