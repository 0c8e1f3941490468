"""
Partitions that are kept free take over what ran on a GPU that fails: each lost one goes to a free one of its size.

That is what a plan with `spare_gpu_loss` keeps them for (solver/check/spares.py proves that they are enough for any one
GPU). Under MPS all of a GPU moves to one that serves nothing and keeps as much free (free_shares.py there). They take
requests once their services are up, some seconds after the failure; who finds no free one is lost. Free
partitions of GPUs that fail themselves, then or later, are not used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..model.plan import Plan, PlannedGpu
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
    whole = {gpu.id: gpu for gpu in plan.gpus if gpu.sharing == "mps"}
    idle = {key: _percent(gpu) for key, gpu in whole.items() if not any(one.serves for one in gpu.partitions)}
    for failed in sorted(failures_s, key=lambda gpu: failures_s[gpu]):
        places: dict[int, tuple[str, int]] = {}
        to = _idle_gpu(whole, failed, [one for one in idle if one not in failures_s], idle)
        if to is not None:
            del idle[to]
        for workload, own in servers.items():
            for server in own:
                if server.gpu != failed:
                    continue
                if server.partition not in places:
                    place = None if to is None else (to, server.partition)
                    if failed not in whole:
                        wanted = size_of[failed, server.partition]
                        place = next((one for one in free if size_of[one] == wanted and one[0] not in whole), None)
                    if place is None:
                        continue
                    if place in free and failed not in whole:
                        free.remove(place)
                    places[server.partition] = place
                gpu, partition = places[server.partition]
                moved = replace(server, gpu=gpu, partition=partition)
                found.append(Spare(workload, moved, 1000 * (failures_s[failed] + takeover_s)))
    return found


def _idle_gpu(
    whole: Mapping[str, PlannedGpu], failed: str, idle: Sequence[str], percent: Mapping[str, float]
) -> str | None:
    """Returns a GPU under MPS that serves nothing and has room for all of one that fails; None: there is none."""
    if failed not in whole:
        return None
    used = sum(one.sm_percent or 0.0 for one in whole[failed].partitions if one.serves)
    fits = (one for one in idle if whole[one].gpu == whole[failed].gpu and percent[one] >= used * (1 - 1e-9))
    return next(fits, None) if used else None


def _percent(gpu: PlannedGpu) -> float:
    return sum(one.sm_percent or 0.0 for one in gpu.partitions)
