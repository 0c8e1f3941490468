"""
Partitions that are kept free take over what ran on a GPU that fails: each lost one goes to a free one of its size.

That is what a plan with `spare_gpu_loss` keeps them for (solver/check/spares.py proves that they are enough for any one
GPU). They take requests once their services are up, some seconds after the failure; who finds no free one is lost. Free
partitions of GPUs that fail themselves, then or later, are not used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..model.plan import Plan
from .server import Server


@dataclass(frozen=True)
class Spare:
    """A server that comes up when another is lost."""

    workload: str
    server: Server
    begins_ms: float


def spares_of(
    plan: Plan, servers: Mapping[str, Sequence[Server]], failures_s: Mapping[str, float], takeover_s: float
) -> list[Spare]:
    """Returns what comes up; `servers`: of each workload. GPUs fail in the order of their times."""
    size_of = {
        (gpu.id, number): (gpu.gpu, partition.mig_profile)
        for gpu in plan.gpus
        for number, partition in enumerate(gpu.partitions)
    }
    free = [
        (gpu.id, number)
        for gpu in plan.gpus
        for number, partition in enumerate(gpu.partitions)
        if not partition.serves and gpu.id not in failures_s
    ]
    found = []
    for failed in sorted(failures_s, key=lambda gpu: failures_s[gpu]):
        places: dict[int, tuple[str, int]] = {}
        for workload, own in servers.items():
            for server in own:
                if server.gpu != failed:
                    continue
                if server.partition not in places:
                    wanted = size_of[failed, server.partition]
                    place = next((one for one in free if size_of[one] == wanted), None)
                    if place is None:
                        continue
                    free.remove(place)
                    places[server.partition] = place
                gpu, partition = places[server.partition]
                moved = replace(server, gpu=gpu, partition=partition)
                found.append(Spare(workload, moved, 1000 * (failures_s[failed] + takeover_s)))
    return found
