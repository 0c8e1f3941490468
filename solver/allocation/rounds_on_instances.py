"""
From GPUs on which services stand alone or take turns to a plan: places, rates, cost.

MIG instances, GPUs that are used whole and cores of CPUs, and beside them GPUs under MPS (rounds.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from ..model.plan import Bound, Partition, Plan, PlannedGpu, Search, Served
from ..performance.interference.prediction import Floats
from ..performance.resolve import ResolvedProblem
from ..performance.turns.rounds import capacity_rps
from .assembly import node_places, places_of, planned
from .partition_records import served_alone
from .rounds import RoundsGpu, SharedRounds, Split


@dataclass(frozen=True)
class InstanceTurn:
    """A service's turn of a round."""

    workload: int
    batch: int
    latency_ms: float
    carried_rps: float
    """What it is promised."""


@dataclass(frozen=True)
class Instance:
    """A partition of a size: one service alone at its best operating point, or a round; with neither, kept free."""

    size: int
    """Index into ResolvedProblem.sizes."""
    alone: int | None
    """None: the turns are, or nobody is."""
    turns: tuple[InstanceTurn, ...] = ()

    @property
    def round_ms(self) -> float:
        """As long as the turns take."""
        return sum(turn.latency_ms for turn in self.turns)


def assemble_instances(
    resolved: ResolvedProblem,
    gpus: Sequence[tuple[str, Sequence[Instance]]],
    under_mps: Sequence[RoundsGpu] = (),
    *,
    planner: str,
    bound: Bound,
    search: Search,
) -> Plan:
    """
    Returns the plan of GPUs, each its type and what is on it, numbered in their order, those under MPS last.

    A workload's rate is split in proportion to what its partitions carry.
    """
    shared = SharedRounds.of(resolved, under_mps)
    promised, capacity = shared.carried()
    carried = np.zeros(len(resolved.required_rps))
    for w, rps in promised.items():
        carried[w] += rps
    for _, instances in gpus:
        for one in instances:
            for w, rps in _carried(resolved, one):
                carried[w] += rps
    part = resolved.required_rps / np.maximum(carried, 1e-300)
    own = list(dict.fromkeys(one for _, instances in gpus for one in instances if one.alone is not None))
    alone = dict(zip(own, _served_alone(resolved, own, part), strict=True))
    names = [size.kind or "" for size in resolved.sizes]
    numbers = {name: count() for name in resolved.fleet_by_name}
    places = {entry.gpu: node_places(entry) for entry in resolved.problem.fleet}
    order = {entry.gpu.name: i for i, entry in enumerate(resolved.fleet)}
    records = []
    for gpu, some in sorted(gpus, key=lambda one: order[one[0]]):
        instances = sorted(some, key=lambda one: one.size)
        at, starts = places_of(gpu, [one.size for one in instances], names)
        node, index = next(places[gpu])
        records.append(
            PlannedGpu(
                id=f"{gpu}/{next(numbers[gpu])}",
                gpu=gpu,
                node=node,
                index=index,
                sharing=resolved.sizes[instances[0].size].sharing,
                partitions=tuple(
                    _partition(resolved, instances[i], start, part, alone.get(instances[i]))
                    for i, start in zip(at, starts, strict=True)
                ),
            )
        )
    split = {w: Split(float(resolved.required_rps[w]), float(carried[w]), own) for w, own in capacity.items()}
    for i, of_shares in enumerate(under_mps):
        gpu = of_shares.gpu
        node, index = next(places[gpu])
        records.append(
            PlannedGpu(
                id=f"{gpu}/{next(numbers[gpu])}",
                gpu=gpu,
                node=node,
                index=index,
                sharing="mps",
                partitions=shared.partitions(i, split),
            )
        )
    return planned(resolved, tuple(records), planner=planner, bound=bound, search=search)


def _carried(resolved: ResolvedProblem, one: Instance) -> list[tuple[int, float]]:
    if one.alone is not None:
        return [(one.alone, float(resolved.capacity_rps[one.alone, one.size]))]
    return [(turn.workload, turn.carried_rps) for turn in one.turns]


def _served_alone(resolved: ResolvedProblem, own: Sequence[Instance], part: Floats) -> list[Served]:
    """Returns what partitions serve that are one workload's own; `part`: of what each workload's partitions carry."""
    workload = np.array([one.alone for one in own], dtype=np.int64)
    size = np.array([one.size for one in own], dtype=np.int64)
    capacity = resolved.capacity_rps[workload, size]
    return served_alone(resolved, workload, size, np.minimum(capacity * part[workload], capacity), np.zeros(len(own)))


def _partition(
    resolved: ResolvedProblem, one: Instance, start: int | None, part: Floats, alone: Served | None
) -> Partition:
    size = resolved.sizes[one.size]
    profile = size.mig.name if size.mig else None
    if alone is not None or not one.turns:
        serves = () if alone is None else (alone,)
        return Partition(
            mig_profile=profile, start=start, sm_percent=None, duty_cycle_ms=None, serves=serves, cores=size.cores
        )
    rates = [min(float(rps * part[w]), rps) for w, rps in _carried(resolved, one)]
    workloads, promises = resolved.problem.workloads, resolved.problem.settings.latency != "execution"
    return Partition(
        mig_profile=profile,
        start=start,
        sm_percent=None,
        cores=size.cores,
        duty_cycle_ms=one.round_ms,
        turns="any" if resolved.problem.settings.turns == "any" else "fixed",
        serves=tuple(
            Served(
                workload=workloads[turn.workload].name,
                batch=turn.batch,
                processes=1,
                latency_ms=turn.latency_ms,
                capacity_rps=capacity_rps(turn.batch, one.round_ms),
                rate_rps=rate,
                basis=resolved.profiles[workloads[turn.workload].model, size.gpu].basis(size.sharing),
                causes_ms=None,
                promised_rps=turn.carried_rps if promises else None,
            )
            for turn, rate in zip(one.turns, rates, strict=True)
        ),
    )
