"""
gpu-lets' elastic partitioning with its linear model of interference, as its artefact does it.

Batches are lowered until neighbours keep their SLOs, but not for all that changes afterwards, and a service that gets
85 % of its rate counts as scheduled (`Defects` of time_sharing/schedule.py). So many of its plans break its own model.
"""

from .gpulets import Gpulets


class GpuletsInt(Gpulets):
    """gpu-lets' elastic partitioning with interference."""

    name = "gpulets-int"
    source = "gpu-lets (USENIX ATC 2022), elastic partitioning with interference, source casys-kaist/glet"
    interferes = True


PLANNERS = (GpuletsInt(),)
