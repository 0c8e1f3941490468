"""What runs on fleets of which GPUs may be shared by MPS, and which of it may stay under the problem as it is now."""

from dataclasses import dataclass, replace

import numpy as np

from ...allocation.allocated import MpsGpu, Resident
from ...exact.mps.fixed_shares import ROUNDING, carried_rps, has_room
from ...exact.replanning.cleared_gpus import Standing
from ...model.plan import Plan, PlannedGpu
from ...performance.igniter_rules import IgniterDemands, demands
from ...performance.interference.prediction import Ints
from ...performance.mps_sharing import MpsType
from ...performance.resolve import ResolvedProblem
from .what_runs import Running, in_the_fleet, running_gpus


@dataclass(frozen=True, eq=False)
class RunningFleet:
    """What runs, as far as the problem knows it."""

    known: Running
    """GPUs as the plan names them: first those that are cut, in full, and then those under MPS."""
    standing: tuple[Standing, ...]
    """The same GPUs with what may stay there."""


def running_fleet(resolved: ResolvedProblem, running: Plan) -> RunningFleet:
    """Returns what runs, with the partitions that may stay under the problem as it is now."""
    cut = tuple(gpu for gpu in running.gpus if gpu.sharing != "mps")
    known = running_gpus(resolved, running.model_copy(update={"gpus": cut}))
    number = {workload.name: w for w, workload in enumerate(resolved.problem.workloads)}
    must_move = set(known.must_move)
    shared: list[tuple[PlannedGpu, MpsGpu]] = []
    for gpu in running.gpus:
        if gpu.sharing != "mps":
            continue
        residents = []
        for partition in gpu.partitions:
            names = [served.workload for served in partition.serves]
            if len(names) != 1 or names[0] not in number:
                must_move |= {number[name] for name in names if name in number}
                continue
            w = number[names[0]]
            one = Resident(w, partition.serves[0].batch, float(partition.sm_percent or 0.0))
            if in_the_fleet(resolved.problem, gpu) and may_stay(resolved, gpu.gpu, one):
                residents.append(one)
            else:
                must_move.add(w)
        shared.append((gpu, MpsGpu(gpu.gpu, tuple(residents))))
    stays = [
        (gpu, replace(own, residents=tuple(one for one in own.residents if one.workload not in must_move)))
        for gpu, own in shared
    ]
    stays = [(gpu, own) for gpu, own in stays if own.residents]
    cut_gpus = [
        (planned, replace(own, partitions=tuple(one for one in own.partitions if one.workload not in must_move)))
        for planned, own in zip(known.planned, known.gpus, strict=True)
    ]
    cut_gpus = [(planned, own) for planned, own in cut_gpus if own.partitions]
    all_of_it = Running(
        tuple(own for _, own in cut_gpus),
        (*(planned for planned, _ in cut_gpus), *(planned for planned, _ in stays)),
        frozenset(must_move),
    )
    return RunningFleet(all_of_it, (*(own for _, own in cut_gpus), *(own for _, own in stays)))


def may_stay(resolved: ResolvedProblem, gpu: str, one: Resident) -> bool:
    """
    Tells whether a resident may be where it is in some plan: False is a claim.

    Alone on its GPU nobody slows it, so it carries no more in any plan than there. A service of one replica has to
    carry its whole rate; of others it is enough that it carries something.
    """
    mps, workload = resolved.mps.get(gpu), resolved.problem.workloads[one.workload]
    if mps is None or not mps.usable[one.workload] or one.batch not in mps.batches[one.workload]:
        return False
    units = round(one.percent / mps.unit_percent)
    is_share = abs(units * mps.unit_percent - one.percent) <= ROUNDING * 100 and units >= mps.least_units
    alone = MpsGpu(gpu, (one,))
    if not is_share or not has_room(mps, alone):
        return False
    if resolved.problem.settings.mps_rules == "igniter" and one.batch not in _batches_by_the_rules(resolved, mps, one):
        return False
    carried = float(carried_rps(resolved, [alone])[0][0])
    whole = workload.max_replicas == 1
    return carried > 0 and (not whole or carried >= resolved.required_rps[one.workload] * (1 - ROUNDING))


def _batches_by_the_rules(resolved: ResolvedProblem, mps: MpsType, one: Resident) -> set[int]:
    asked = demands(resolved, mps, [one.workload])
    return {own.batch for own in (*asked.dedicated, *asked.shared)} if isinstance(asked, IgniterDemands) else set()


def batches_alone(resolved: ResolvedProblem, gpu: str, workload: int) -> Ints:
    """Returns the batch sizes of a workload as the only resident of a type that serves it, as `ClearedGpus` asks."""
    mps = resolved.mps[gpu]
    if not mps.usable[workload]:
        return np.zeros(0, dtype=np.int64)
    if resolved.problem.settings.mps_rules == "free":
        return mps.batches[workload]
    asked = demands(resolved, mps, [workload])
    if not isinstance(asked, IgniterDemands) or asked.dedicated or len(asked.shared) != 1:
        return np.zeros(0, dtype=np.int64)
    return np.array([asked.shared[0].batch], dtype=np.int64)
