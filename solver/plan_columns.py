"""A plan read as columns: for steps that look at every partition of plans with millions of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from .model.plan import Partition, Plan, PlannedGpu, Served
from .model.problem import Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UNKNOWN = -1
"""Stands for a workload that is not in the problem."""

Kind = tuple[str, str | None, float | None]
"""What tells partitions apart: GPU type, MIG profile, share in percent."""


@dataclass(frozen=True, eq=False)
class PlanColumns:
    """The partitions of a plan, and what they serve, in the order of the plan."""

    problem: Problem
    gpus: Sequence[PlannedGpu]
    """What was read: the plan's GPUs."""
    partitions: Sequence[Partition]
    gpu: Ints
    """Shape (partition,): position of its GPU in the plan."""
    kinds: Sequence[Kind]
    """The kinds of partition that there are."""
    kind: Ints
    """Shape (partition,): index into `kinds`."""
    served: Sequence[Served]
    partition: Ints
    """Shape (served,): index of the partition that serves it."""
    workload: Ints
    """Shape (served,): index of the workload, or UNKNOWN."""
    batch: Sequence[int]
    """Shape (served,), as all that follow. A damaged plan may state batches that no array holds."""
    processes: Sequence[int]
    latency_ms: Floats
    capacity_rps: Floats
    rate_rps: Floats

    @property
    def served_kind(self) -> Ints:
        """Shape (served,): kind of the partition that serves it."""
        return self.kind[self.partition]


def plan_columns(problem: Problem, plan: Plan, known: PlanColumns | None = None) -> PlanColumns:
    """Returns the partitions of a plan as columns; `known`: what was read before, perhaps of this very plan."""
    gpus = plan.gpus
    if known is not None and known.problem is problem and known.gpus is gpus:
        return known
    index = {workload.name: w for w, workload in enumerate(problem.workloads)}
    on_gpu = [gpu.partitions for gpu in gpus]
    partitions = list(chain.from_iterable(on_gpu))
    types = chain.from_iterable([gpu.gpu] * len(parts) for gpu, parts in zip(gpus, on_gpu, strict=True))
    kinds = [(gpu, part.mig_profile, part.sm_percent) for gpu, part in zip(types, partitions, strict=True)]
    number = {kind: k for k, kind in enumerate(dict.fromkeys(kinds))}
    serves = [part.serves for part in partitions]
    served = list(chain.from_iterable(serves))
    return PlanColumns(
        problem=problem,
        gpus=gpus,
        partitions=partitions,
        gpu=_repeated(on_gpu),
        kinds=list(number),
        kind=np.array([number[kind] for kind in kinds], dtype=np.int64),
        served=served,
        partition=_repeated(serves),
        workload=np.array([index.get(one.workload, UNKNOWN) for one in served], dtype=np.int64),
        batch=[one.batch for one in served],
        processes=[one.processes for one in served],
        latency_ms=np.array([one.latency_ms for one in served], dtype=np.float64),
        capacity_rps=np.array([one.capacity_rps for one in served], dtype=np.float64),
        rate_rps=np.array([one.rate_rps for one in served], dtype=np.float64),
    )


def _repeated(groups: Sequence[Sequence[object]]) -> Ints:
    """Returns the index of each group, as often as it has members."""
    return np.repeat(np.arange(len(groups)), np.array([len(group) for group in groups], dtype=np.int64))
