"""From a planner's decision (which partitions stand on which GPU) to a complete plan."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from .digest import reference
from .geometry import Layout, Multiset, placement_rules, roomiest_layout
from .model.catalogue import load_catalogue
from .model.plan import Bound, Plan, PlannedGpu, Search, Status, Unserved
from .model.problem import Sharing, Workload
from .performance.interference.prediction import SharedPrediction
from .performance.resolve import FleetType, ResolvedProblem

GPUS = TypeAdapter(tuple[PlannedGpu, ...])

UNKNOWN_BOUND = Bound(cost_per_hour=None, gpus=None, method="none: this planner computes no bound")


SPARE = -1
"""Stands for the workload of a partition that is kept free."""


@dataclass(frozen=True, order=True)
class Segment:
    """One partition of a size for a workload, at the best operating point; without a place yet."""

    size: int
    """Index into ResolvedProblem.sizes."""
    workload: int


@dataclass(frozen=True)
class CutGpu:
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


@dataclass(frozen=True)
class _Figures:
    """A partition that lacks only its share of the workload's rate; one that is kept free has only a place."""

    workload: int
    mig_profile: str | None
    start: int | None
    sm_percent: float | None
    batch: int
    processes: int
    latency_ms: float
    capacity_rps: float
    causes_ms: dict[str, float] | None


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
    used = [one for one in decided if one.is_used]
    order = {entry.gpu.name: i for i, entry in enumerate(resolved.fleet)}
    used.sort(key=lambda one: order[one.gpu])
    shared = _predicted(resolved, [one for one in used if isinstance(one, SharedGpu)])
    contents = [
        _cut_figures(resolved, one) if isinstance(one, CutGpu) else _shared_figures(one, *next(shared)) for one in used
    ]
    total_rps: defaultdict[int, float] = defaultdict(float)
    for content in contents:
        for figures in content:
            if figures.workload != SPARE:
                total_rps[figures.workload] += figures.capacity_rps
    numbers: Counter[str] = Counter()
    rows = []
    for one, content in zip(used, contents, strict=True):
        number = numbers[one.gpu]
        numbers[one.gpu] += 1
        node, index = _node_of(resolved.fleet_by_name[one.gpu], resolved, number)
        rows.append(
            {
                "id": f"{one.gpu}/{number}",
                "gpu": one.gpu,
                "node": node,
                "index": index,
                "sharing": _sharing(content[0]),
                "partitions": [_partition(resolved, one.gpu, figures, total_rps) for figures in content],
            }
        )
    # All at once: a plan may have hundreds of thousands of partitions.
    gpus = GPUS.validate_python(rows)
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


def _cut_figures(resolved: ResolvedProblem, cut: CutGpu) -> list[_Figures]:
    """Returns the segments of a GPU by their start; a whole GPU has one, without a start."""
    return [
        _Figures(
            workload=w,
            mig_profile=resolved.sizes[k].name if resolved.sizes[k].mig else None,
            start=start if resolved.sizes[k].mig else None,
            sm_percent=None,
            batch=int(resolved.batch[w, k]),
            processes=int(resolved.processes[w, k]),
            latency_ms=float(resolved.latency_ms[w, k]),
            capacity_rps=float(resolved.capacity_rps[w, k]),
            causes_ms=None,
        )
        for start, segment in sorted(_placed(resolved, cut))
        for w, k in [(segment.workload, segment.size)]
    ]


def _placed(resolved: ResolvedProblem, cut: CutGpu) -> list[tuple[int, Segment]]:
    """Returns the start of each segment."""
    if cut.starts is not None:
        return list(zip(cut.starts, cut.segments, strict=True))
    if resolved.sizes[cut.segments[0].size].mig is None:
        return [(0, segment) for segment in cut.segments]
    names = [resolved.sizes[segment.size].name for segment in cut.segments]
    layout = _layout(cut.gpu, tuple(sorted(names)))
    by_name: dict[str, list[Segment]] = {}
    for segment, name in sorted(zip(cut.segments, names, strict=True), reverse=True):
        by_name.setdefault(name, []).append(segment)
    return [(placement.start, by_name[placement.profile].pop()) for placement in layout]


@cache
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


def _shared_figures(one: SharedGpu, prediction: SharedPrediction, row: int) -> list[_Figures]:
    return [
        _Figures(
            workload=resident.workload,
            mig_profile=None,
            start=None,
            sm_percent=resident.percent,
            batch=resident.batch,
            processes=1,
            latency_ms=float(prediction.latency_ms[row, i]),
            capacity_rps=float(prediction.throughput_rps[row, i]),
            causes_ms={cause: float(part[row, i]) for cause, part in prediction.causes_ms.items()},
        )
        for i, resident in enumerate(one.residents)
    ]


def _partition(
    resolved: ResolvedProblem, gpu: str, figures: _Figures, total_rps: Mapping[int, float]
) -> dict[str, Any]:
    """Returns the fields of a partition."""
    place = {
        "mig_profile": figures.mig_profile,
        "start": figures.start,
        "sm_percent": figures.sm_percent,
        "duty_cycle_ms": None,
    }
    if figures.workload == SPARE:
        return {**place, "serves": []}
    workload = resolved.problem.workloads[figures.workload]
    required = float(resolved.required_rps[figures.workload])
    share = figures.capacity_rps / total_rps[figures.workload]
    # Where all partitions together suffice, no rounding may put one above its capacity.
    enough = total_rps[figures.workload] >= required * (1 - 1e-9)
    rate = required * share
    served = {
        "workload": workload.name,
        "batch": figures.batch,
        "processes": figures.processes,
        "latency_ms": figures.latency_ms,
        "capacity_rps": figures.capacity_rps,
        "rate_rps": min(figures.capacity_rps, rate) if enough else rate,
        "basis": resolved.profiles[workload.model, gpu].basis(_sharing(figures)),
        "causes_ms": figures.causes_ms,
        "memory_mib": _memory_mib(resolved, gpu, workload) if figures.sm_percent is not None else None,
    }
    return {**place, "serves": [served]}


def _memory_mib(resolved: ResolvedProblem, gpu: str, workload: Workload) -> float | None:
    """Returns the memory of one process under MPS: the workload's own figure, or its profile's."""
    known = resolved.profiles[workload.model, gpu].interference
    return workload.memory_mib or (known.memory_mib if known else None)


def _sharing(figures: _Figures) -> Sharing:
    if figures.sm_percent is not None:
        return "mps"
    return "mig" if figures.mig_profile else "exclusive"


def _node_of(entry: FleetType, resolved: ResolvedProblem, number: int) -> tuple[str | None, int | None]:
    """Returns node and index of the GPU with a running number; None where the fleet entry names no nodes."""
    nodes = next(e.nodes for e in resolved.problem.fleet if e.gpu == entry.gpu.name) or ()
    for node in nodes:
        if number < node.count:
            return node.name, number
        number -= node.count
    return None, None
