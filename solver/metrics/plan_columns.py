"""A plan read as columns: for steps that look at every partition of plans with millions of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count, repeat
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.numbering import different, numbered
from ..model.plan import Partition, Plan, PlannedGpu, Served
from ..model.problem import Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

UNKNOWN = -1
"""Stands for a workload that is not in the problem."""

GREATEST = 1 << 62
"""What a batch size or a number of processes beyond it is read as: a damaged plan may state any."""

PartitionKind = tuple[str, str | None, float | None]
"""What tells partitions apart: GPU or CPU type, MIG profile or cores (`Partition.kind`), share in percent."""


@dataclass(frozen=True, eq=False)
class PlanColumns:
    """The partitions of a plan, and what they serve, in the order of the plan."""

    problem: Problem
    gpus: Sequence[PlannedGpu]
    """What was read: the plan's GPUs."""
    partitions: Sequence[Partition]
    gpu: Ints
    """Shape (partition,): position of its GPU in the plan."""
    first: Ints
    """Shape (gpu,): its first partition; the others follow."""
    division: Ints
    """Shape (gpu,): equal for GPUs of one type and kind of sharing with equal partitions at equal starts."""
    example: Ints
    """Shape (division,): the first GPU that is divided so."""
    kinds: Sequence[PartitionKind]
    """The kinds of partition that there are."""
    kind: Ints
    """Shape (partition,): index into `kinds`."""
    records: Sequence[Served]
    """What is served, by which service: partitions may share one record, which is read once."""
    record: Ints
    """Shape (served,): index into `records`."""
    partition: Ints
    """Shape (served,): index of the partition that serves it."""
    workload: Ints
    """Shape (served,): index of the workload, or UNKNOWN."""
    models: Sequence[str]
    """The models that workloads have; the last one, empty, is that of unknown workloads."""
    model: Ints
    """Shape (served,), as all that follow: index into `models`."""
    batch: Ints
    processes: Ints
    latency_ms: Floats
    capacity_rps: Floats
    rate_rps: Floats

    @cached_property
    def take_turns(self) -> Bools:
        """Shape (partition,): whether services take turns on it, if only one a round."""
        duty_cycles = list(map(attrgetter("duty_cycle_ms"), self.partitions))
        if duty_cycles.count(None) == len(duty_cycles):
            return np.zeros(len(duty_cycles), dtype=np.bool_)
        serves = np.bincount(self.partition, minlength=len(duty_cycles)) > 0
        return np.asarray([one is not None for one in duty_cycles] & serves)

    def served(self, row: int) -> Served:
        """Returns one of what partitions serve."""
        return self.records[int(self.record[row])]

    def stated(self, field: str) -> list[Any]:
        """Returns a field of each of `records`."""
        return list(map(attrgetter(field), self.records))

    def served_on(self, gpu: int) -> slice:
        """Returns the rows of what one GPU serves; `gpu`: its position in the plan."""
        ends = np.array([self.first[gpu], self.first[gpu] + len(self.gpus[gpu].partitions)])
        start, stop = np.searchsorted(self.partition, ends).tolist()
        return slice(start, stop)

    @property
    def served_kind(self) -> Ints:
        """Shape (served,): kind of the partition that serves it."""
        return self.kind[self.partition]


def plan_columns(problem: Problem, plan: Plan, known: PlanColumns | None = None) -> PlanColumns:
    """Returns the partitions of a plan as columns; `known`: what was read before, perhaps of this very plan."""
    gpus = plan.gpus
    if known is not None and known.problem is problem and known.gpus is gpus:
        return known
    index = dict(zip(map(attrgetter("name"), problem.workloads), count(), strict=False))
    models, model_of = numbered(map(attrgetter("model"), problem.workloads), len(problem.workloads))
    on_gpu = list(map(attrgetter("partitions"), gpus))
    partitions = list(chain.from_iterable(on_gpu))
    # Whole columns are read in loops in C.
    number = np.fromiter(map(len, on_gpu), dtype=np.int64, count=len(gpus))
    first = np.cumsum(number) - number
    gpu = np.repeat(np.arange(len(gpus)), number)
    shared, sharing = numbered(map(attrgetter("gpu", "sharing"), gpus), len(gpus))
    named = "kind" if any(how == "cores" for _, how in shared) else "mig_profile"  # a field is read faster
    places, place = numbered(map(attrgetter(named, "sm_percent", "start"), partitions), len(partitions))
    # Which of these places are on which type of GPU.
    pair = different(sharing[gpu] * len(places) + place)
    on_types = [(shared[at // len(places)][0], *places[at % len(places)][:2]) for at in pair.values.tolist()]
    kinds, kind_of_pair = numbered(on_types, len(on_types))
    division, example = _divisions(sharing, place, first, number)
    serves = list(map(attrgetter("serves"), partitions))
    served = list(chain.from_iterable(serves))
    alike = different(np.fromiter(map(id, served), dtype=np.int64, count=len(served)))
    records, record = list(map(served.__getitem__, alike.first.tolist())), alike.which
    names = map(attrgetter("workload"), records)
    workload = np.fromiter(map(index.get, names, repeat(UNKNOWN)), dtype=np.int64, count=len(records))[record]

    def floats(field: str) -> Floats:
        return np.fromiter(map(attrgetter(field), records), dtype=np.float64, count=len(records))[record]

    def ints(field: str) -> Ints:
        try:
            of_records = np.fromiter(map(attrgetter(field), records), dtype=np.int64, count=len(records))
        except OverflowError:
            of_records = np.array([min(value, GREATEST) for value in map(attrgetter(field), records)], dtype=np.int64)
        return of_records[record]

    return PlanColumns(
        problem=problem,
        gpus=gpus,
        partitions=partitions,
        gpu=gpu,
        first=first,
        division=division,
        example=example,
        kinds=kinds,
        kind=kind_of_pair[pair.which],
        records=records,
        record=record,
        partition=np.repeat(
            np.arange(len(partitions)), np.fromiter(map(len, serves), dtype=np.int64, count=len(serves))
        ),
        workload=workload,
        models=[*models, ""],
        model=np.append(model_of, len(models))[workload],  # UNKNOWN is the last
        batch=ints("batch"),
        processes=ints("processes"),
        latency_ms=floats("latency_ms"),
        capacity_rps=floats("capacity_rps"),
        rate_rps=floats("rate_rps"),
    )


def _divisions(sharing: Ints, place: Ints, first: Ints, count: Ints) -> tuple[Ints, Ints]:
    """
    Returns the division of each GPU, and the first GPU of each.

    sharing
        Shape (gpu,): number of its type and kind of sharing.
    place
        Shape (partition,): number of its kind and start.
    """
    places = int(place.max(initial=0)) + 1
    division = sharing
    # One partition after the other, so that numbers stay small however many there are.
    for position in range(int(count.max(initial=0))):
        gpu = np.flatnonzero(count > position)
        longer = different(division[gpu] * places + place[first[gpu] + position])
        fewer = int(division.max()) + 1
        division = division.copy()
        division[gpu] = fewer + longer.which
    _, example, division = different(division)
    return division, example
