"""From a planner's decision (which partitions stand on which GPU) to a complete plan."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import NamedTuple

import numpy as np

from .digest import reference
from .geometry import Layout, Multiset, placement_rules, roomiest_layout
from .model.base import unvalidated
from .model.catalogue import load_catalogue
from .model.plan import Bound, Partition, Plan, PlannedGpu, Search, Status, Unserved
from .model.problem import FleetEntry, Sharing
from .partition_records import SHARED, Figures, ResidentFigures, partition_records
from .partition_records import SPARE as SPARE
from .performance.interference.prediction import SharedPrediction
from .performance.resolve import ResolvedProblem

UNKNOWN_BOUND = Bound(cost_per_hour=None, gpus=None, method="none: this planner computes no bound")


# There may be millions of these two, and named tuples are made several times as fast as frozen dataclasses.
class Segment(NamedTuple):
    """One partition of a size for a workload, at the best operating point; without a place yet."""

    size: int
    """Index into ResolvedProblem.sizes."""
    workload: int
    """Index into the problem's workloads; SPARE: kept free."""


class CutGpu(NamedTuple):
    """One GPU and its segments. `starts` gives each segment's place, None lets `assemble` choose."""

    gpu: str
    segments: tuple[Segment, ...]
    starts: tuple[int, ...] | None = None

    @property
    def workloads(self) -> tuple[int, ...]:
        """The workload of each partition that is not kept free."""
        return tuple(segment.workload for segment in self.segments if segment.workload != SPARE)

    @property
    def is_used(self) -> bool:
        """Whether anything stands on it."""
        return bool(self.segments)


@dataclass(frozen=True, order=True)
class Resident:
    """One workload's share of a GPU under MPS."""

    workload: int
    batch: int
    percent: float


@dataclass(frozen=True)
class SharedGpu:
    """One GPU under MPS and its residents."""

    gpu: str
    residents: tuple[Resident, ...]

    @property
    def workloads(self) -> tuple[int, ...]:
        """The workload of each partition."""
        return tuple(resident.workload for resident in self.residents)

    @property
    def is_used(self) -> bool:
        """Whether anything stands on it."""
        return bool(self.residents)


DecidedGpu = CutGpu | SharedGpu


def assemble(
    resolved: ResolvedProblem,
    decided: Iterable[DecidedGpu],
    *,
    planner: str,
    status: Status,
    bound: Bound,
    search: Search,
) -> Plan:
    """
    Places the segments, predicts the residents, splits the rates, numbers the GPUs and adds up the cost.

    A workload's rate is split over its partitions in proportion to their capacity, so that all of them are
    loaded equally. Residents of a GPU under MPS get the figures of the full interference model, whatever
    their planner believed. GPUs of a fleet entry with nodes fill its nodes in their order.
    """
    order = {entry.gpu.name: i for i, entry in enumerate(resolved.fleet)}
    used = sorted((one for one in decided if one.is_used), key=lambda one: order[one.gpu])
    gpus = _gpu_records(resolved, used, partition_records(resolved, _figures(resolved, used)))
    cost = sum(resolved.fleet_by_name[gpu.gpu].price_per_hour for gpu in gpus)
    return Plan(
        version=1,
        problem=reference(resolved.problem),
        planner=planner,
        status=status,
        cost_per_hour=cost,
        gpus_used=len(gpus),
        bound=bound,
        gap=gap(cost, bound),
        search=search,
        runtime_s=0.0,
        gpus=gpus,
        unserved=(),
        violations=(),
        warnings=(),
        shadow=None,
        metrics=None,
    )


def without_plan(
    resolved: ResolvedProblem,
    unserved: Sequence[Unserved],
    *,
    planner: str,
    status: Status,
    search: Search,
    bound: Bound = UNKNOWN_BOUND,
) -> Plan:
    """Returns the answer of a planner that found no plan; `unserved` says why."""
    return Plan(
        version=1,
        problem=reference(resolved.problem),
        planner=planner,
        status=status,
        cost_per_hour=None,
        gpus_used=0,
        bound=bound,
        gap=None,
        search=search,
        runtime_s=0.0,
        gpus=(),
        unserved=tuple(unserved),
        violations=(),
        warnings=(),
        shadow=None,
        metrics=None,
    )


def gap(cost: float | None, bound: Bound) -> float | None:
    """Returns (cost - bound) / bound, 0 if they agree but for rounding; None if either is unknown."""
    if cost is None or bound.cost_per_hour is None:
        return None
    if abs(cost - bound.cost_per_hour) <= 1e-9 * max(cost, 1.0):
        return 0.0
    return max(0.0, cost - bound.cost_per_hour) / bound.cost_per_hour if bound.cost_per_hour else None


def _figures(resolved: ResolvedProblem, used: Sequence[DecidedGpu]) -> Figures:
    """Gives every segment its place, and predicts every resident."""
    predicted = _predicted(resolved, [one for one in used if isinstance(one, SharedGpu)])
    profile_of = [one.name if one.mig else "" for one in resolved.sizes]
    workload: list[int] = []
    size: list[int] = []
    start: list[int | None] = []
    residents: list[ResidentFigures] = []
    for one in used:
        if isinstance(one, SharedGpu):
            figures = _resident_figures(one, *next(predicted))
            residents += figures
            workload += one.workloads
            size += [SHARED] * len(figures)
            start += [None] * len(figures)
            continue
        segments, starts = _placed(one, profile_of)
        size += [k for k, _ in segments]
        workload += [w for _, w in segments]
        start += starts
    return Figures(np.array(workload, dtype=np.int64), np.array(size, dtype=np.int64), start, residents)


def _gpu_records(
    resolved: ResolvedProblem, used: Sequence[DecidedGpu], partitions: Sequence[Partition]
) -> tuple[PlannedGpu, ...]:
    """Numbers the GPUs and gives each its node and, in their order, its partitions."""
    places = {entry.gpu: _places(entry) for entry in resolved.problem.fleet}
    numbers: Counter[str] = Counter()
    rows = []
    taken = 0
    for one in used:
        count = len(one.residents) if isinstance(one, SharedGpu) else len(one.segments)
        number = numbers[one.gpu]
        numbers[one.gpu] = number + 1
        node, index = next(places[one.gpu])
        row = {
            "id": f"{one.gpu}/{number}",
            "gpu": one.gpu,
            "node": node,
            "index": index,
            "sharing": _sharing(resolved, one),
            "partitions": tuple(partitions[taken : taken + count]),
        }
        rows.append(row)
        taken += count
    return tuple(unvalidated(PlannedGpu, rows))


def _sharing(resolved: ResolvedProblem, one: DecidedGpu) -> Sharing:
    return "mps" if isinstance(one, SharedGpu) else resolved.sizes[one.segments[0].size].sharing


def _places(entry: FleetEntry) -> Iterator[tuple[str | None, int | None]]:
    """Yields node and index for one GPU of a type after the other; None where the fleet entry names no nodes."""
    for node in entry.nodes or ():
        yield from ((node.name, index) for index in range(node.count))
    yield from repeat((None, None))


def _placed(cut: CutGpu, profile_of: Sequence[str]) -> tuple[Sequence[Segment], Sequence[int | None]]:
    """
    Returns the segments of a GPU by their start, and the starts; a whole GPU has no start.

    `profile_of`: by index of a size the name of its MIG profile, empty for a whole GPU.
    """
    if not profile_of[cut.segments[0].size]:
        return cut.segments, [None] * len(cut.segments)
    if cut.starts is not None:
        by_start = sorted(zip(cut.starts, cut.segments, strict=True))
        return [segment for _, segment in by_start], [start for start, _ in by_start]
    segments = sorted(cut.segments)
    names = tuple([profile_of[size] for size, _ in segments])
    order, starts = _by_start(cut.gpu, names)
    return [segments[i] for i in order], starts


@cache
def _by_start(gpu: str, names: tuple[str, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns in which order instances of these profiles stand on a GPU, as indices, and where each starts."""
    waiting: dict[str, list[int]] = {}
    for i in reversed(range(len(names))):
        waiting.setdefault(names[i], []).append(i)
    layout = _layout(gpu, tuple(sorted(names)))
    return tuple(waiting[place.profile].pop() for place in layout), tuple(place.start for place in layout)


def _layout(gpu: str, names: Multiset) -> Layout:
    """Returns where instances of these profiles stand on a GPU; raises RuntimeError if they do not fit."""
    geometry = load_catalogue()[gpu].mig
    if geometry is None:
        raise RuntimeError(f"{gpu} has no MIG")
    usual = {profile.name for profile in geometry.profiles if profile.kind == "base"}
    layout = roomiest_layout(placement_rules(geometry, usual | set(names)), names)
    if layout is None:
        raise RuntimeError(f"{', '.join(names)} do not fit on one {gpu}")
    return layout


def _predicted(resolved: ResolvedProblem, shared: Sequence[SharedGpu]) -> Iterator[tuple[SharedPrediction, int]]:
    """Predicts all GPUs of a type at once; yields for each GPU the prediction and its row in it, in their order."""
    rows: dict[int, tuple[SharedPrediction, int]] = {}
    for gpu in dict.fromkeys(one.gpu for one in shared):
        own = [i for i, one in enumerate(shared) if one.gpu == gpu]
        shape = (len(own), max(len(shared[i].residents) for i in own))
        workload, batch = np.zeros(shape, dtype=np.int64), np.ones(shape, dtype=np.int64)
        percent = np.zeros(shape)
        for row, i in enumerate(own):
            for column, resident in enumerate(shared[i].residents):
                workload[row, column] = resident.workload
                batch[row, column] = resident.batch
                percent[row, column] = resident.percent
        prediction = resolved.mps[gpu].model.predict(workload, batch, percent)
        rows |= {i: (prediction, row) for row, i in enumerate(own)}
    for i in range(len(shared)):
        yield rows[i]


def _resident_figures(one: SharedGpu, prediction: SharedPrediction, row: int) -> list[ResidentFigures]:
    return [
        ResidentFigures(
            sm_percent=resident.percent,
            batch=resident.batch,
            latency_ms=float(prediction.latency_ms[row, i]),
            capacity_rps=float(prediction.throughput_rps[row, i]),
            causes_ms={cause: float(part[row, i]) for cause, part in prediction.causes_ms.items()},
            gpu=one.gpu,
        )
        for i, resident in enumerate(one.residents)
    ]
