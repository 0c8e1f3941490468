"""A plan read as columns: for steps that look at every partition of plans with millions of them."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count, repeat
from operator import attrgetter
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..model.plan import Partition, Plan, PlannedGpu, Served
from ..model.problem import Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

UNKNOWN = -1
"""Stands for a workload that is not in the problem."""

GREATEST = 1 << 62
"""What a batch size or a number of processes beyond it is read as: a damaged plan may state any."""

Key = TypeVar("Key", bound=Hashable)

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
    served: Sequence[Served]
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
    models, model_of = _numbered(map(attrgetter("model"), problem.workloads))
    on_gpu = list(map(attrgetter("partitions"), gpus))
    partitions = list(chain.from_iterable(on_gpu))
    # Whole columns are read in loops in C.
    types = chain.from_iterable(map(repeat, map(attrgetter("gpu"), gpus), map(len, on_gpu)))
    named = "kind" if any(gpu.sharing == "cores" for gpu in gpus) else "mig_profile"  # a field is read faster
    kinds_of, shares, starts = (map(attrgetter(field), partitions) for field in (named, "sm_percent", "start"))
    places, place = _numbered(zip(types, kinds_of, shares, starts, strict=True))
    kinds, kind_of_place = _numbered(known_place[:3] for known_place in places)
    number = np.fromiter(map(len, on_gpu), dtype=np.int64, count=len(gpus))
    first = np.cumsum(number) - number
    _, sharing = _numbered(map(attrgetter("gpu", "sharing"), gpus))
    division, example = _divisions(sharing, place, first, number)
    serves = list(map(attrgetter("serves"), partitions))
    served = list(chain.from_iterable(serves))
    names = map(attrgetter("workload"), served)
    workload = np.fromiter(map(index.get, names, repeat(UNKNOWN)), dtype=np.int64, count=len(served))

    def floats(field: str) -> Floats:
        return np.fromiter(map(attrgetter(field), served), dtype=np.float64, count=len(served))

    def ints(field: str) -> Ints:
        try:
            return np.fromiter(map(attrgetter(field), served), dtype=np.int64, count=len(served))
        except OverflowError:
            return np.array([min(value, GREATEST) for value in map(attrgetter(field), served)], dtype=np.int64)

    return PlanColumns(
        problem=problem,
        gpus=gpus,
        partitions=partitions,
        gpu=np.repeat(np.arange(len(gpus)), number),
        first=first,
        division=division,
        example=example,
        kinds=kinds,
        kind=kind_of_place[place],
        served=served,
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


def _numbered(keys: Iterable[Key]) -> tuple[list[Key], Ints]:
    """Returns the different keys, and for each key its index among them."""
    listed = list(keys)
    number = {key: i for i, key in enumerate(dict.fromkeys(listed))}
    return list(number), np.fromiter(map(number.__getitem__, listed), dtype=np.int64, count=len(listed))


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
        longer = division[gpu] * places + place[first[gpu] + position]
        fewer = int(division.max()) + 1
        division = division.copy()
        division[gpu] = fewer + np.unique(longer, return_inverse=True)[1]
    _, example, division = np.unique(division, return_index=True, return_inverse=True)
    return division, example
