"""From a planner's decision (which partitions stand on which GPU) to a complete plan."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate, islice, pairwise, repeat
from types import EllipsisType

import numpy as np

from ..model.base import records_of
from ..model.catalogue import load_catalogue, load_cpus
from ..model.core_partitions import CoreTree, starts_of
from ..model.cpu import Cpu
from ..model.digest import reference
from ..model.geometry import Layout, Multiset, placement_rules, roomiest_layout
from ..model.made_by import made_by
from ..model.objective import COST
from ..model.plan import Bound, Partition, Plan, PlannedGpu, Search, Status, Unserved
from ..model.prices import prices_of
from ..model.problem import FleetEntry, Sharing
from ..model.promise import promise_of
from ..model.sharing import cores_named
from ..model.stop_reason import StopReason
from ..performance.interference.prediction import SharedPrediction
from ..performance.resolve import ResolvedProblem
from .allocated import AlikeGpus, AllocatedGpu, CutGpu, MpsGpu, Segment
from .partition_records import SHARED, Figures, ResidentFigures, partition_records

UNKNOWN_BOUND = Bound(cost_per_hour=None, gpus=None, method="none: this planner computes no bound")

HEURISTIC_DONE = Search(stopped=StopReason.HEURISTIC_DONE, time_limit_s=None, solver=None)
REFUSED = Search(stopped=StopReason.REFUSED, time_limit_s=None, solver=None)

WITHOUT_PLAN = {
    StopReason.INFEASIBLE: Status.INFEASIBLE,
    StopReason.HEURISTIC_DONE: Status.NONE_FOUND,
    StopReason.GAP_LEFT: Status.NONE_FOUND,
    StopReason.REFUSED: Status.REFUSED,
    StopReason.TIME_LIMIT: Status.TIMEOUT,
    StopReason.INTERRUPTED: Status.TIMEOUT,
}
"""Why a search ended -> what that says where it gave no plan."""


def assemble(
    resolved: ResolvedProblem,
    decided: Iterable[AllocatedGpu | AlikeGpus],
    *,
    planner: str,
    bound: Bound,
    search: Search,
) -> Plan:
    """
    Places the segments, predicts the residents, splits the rates, numbers the GPUs and adds up the cost.

    A workload's rate is split over its partitions in proportion to their capacity, so that all of them are
    loaded equally. Residents of a GPU under MPS get the figures of the full interference model, whatever
    their planner believed. GPUs of a fleet entry with nodes fill its nodes in their order. Why the search ended gives
    the status.
    """
    order = {entry.gpu.name: i for i, entry in enumerate(resolved.fleet)}
    used = sorted((one for one in decided if one.is_used), key=lambda one: order[one.gpu])
    gpus = _gpu_records(resolved, used, partition_records(resolved, _figures(resolved, used)))
    return planned(resolved, gpus, planner=planner, bound=bound, search=search)


def planned(
    resolved: ResolvedProblem, gpus: tuple[PlannedGpu, ...], *, planner: str, bound: Bound, search: Search
) -> Plan:
    """Returns the plan of complete GPUs: what they cost, and what is known of that."""
    cost = sum(resolved.fleet_by_name[gpu.gpu].price_per_hour for gpu in gpus)
    return Plan(
        version=1,
        problem=reference(resolved.problem),
        planner=planner,
        status=Status.OPTIMAL if search.stopped is StopReason.PROVED else Status.FEASIBLE,
        cost_per_hour=cost,
        gpus_used=len(gpus),
        bound=bound,
        gap=COST.gap(cost, bound.cost_per_hour),
        search=search,
        runtime_s=0.0,
        gpus=gpus,
        unserved=(),
        violations=(),
        warnings=(),
        shadow=None,
        metrics=None,
        gpu_prices=prices_of(resolved.problem),
        promise=promise_of(resolved.problem),
        made_by=made_by(),
    )


def without_plan(
    resolved: ResolvedProblem,
    unserved: Sequence[Unserved],
    *,
    planner: str,
    search: Search,
    bound: Bound = UNKNOWN_BOUND,
) -> Plan:
    """
    Returns the answer of a planner that has no plan; `unserved` says why, and why its search ended gives the status.

    A search that ends `infeasible` has proven that the problem has no plan; one that proved a cost has a plan.
    """
    return Plan(
        version=1,
        problem=reference(resolved.problem),
        planner=planner,
        status=WITHOUT_PLAN[search.stopped],
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
        gpu_prices=prices_of(resolved.problem),
        made_by=made_by(),
    )


def refused(resolved: ResolvedProblem, reason: str, *, planner: str) -> Plan:
    """Returns the answer of a planner that does not take the problem, with the reason for all workloads."""
    unserved = [Unserved(workload=workload.name, reason=reason) for workload in resolved.problem.workloads]
    return without_plan(resolved, unserved, planner=planner, search=REFUSED)


def _figures(resolved: ResolvedProblem, used: Sequence[AllocatedGpu | AlikeGpus]) -> Figures:
    """Gives every segment its place, and predicts every resident."""
    predicted = _predicted(resolved, [one for one in used if isinstance(one, MpsGpu)])
    profile_of = [one.kind or "" for one in resolved.sizes]
    workload: list[int] = []
    size: list[int] = []
    start: list[int | None] = []
    residents: list[ResidentFigures] = []
    starts: Sequence[int | None]
    for one in used:
        if isinstance(one, MpsGpu):
            figures = resident_figures(one, *next(predicted))
            residents += figures
            workload += one.workloads
            size += [SHARED] * len(figures)
            start += [None] * len(figures)
        elif isinstance(one, AlikeGpus):
            order, starts = places_of(one.gpu, one.sizes, profile_of)
            workload += one.workload[:, order].ravel().tolist()
            size += [one.sizes[i] for i in order] * len(one.workload)
            start += starts * len(one.workload)
        else:
            segments, starts = _placed(one, profile_of)
            size += [k for k, _ in segments]
            workload += [w for _, w in segments]
            start += starts
    return Figures(np.array(workload, dtype=np.int64), np.array(size, dtype=np.int64), start, residents)


def _gpu_records(
    resolved: ResolvedProblem, used: Sequence[AllocatedGpu | AlikeGpus], partitions: Sequence[Partition]
) -> tuple[PlannedGpu, ...]:
    """
    Numbers the GPUs and gives each its node and, in their order, its partitions.

    `used`: those of one type after the other.
    """
    count: list[int] = []
    sharing: list[Sharing] = []
    numbers: Counter[str] = Counter()
    for one in used:
        gpus = len(one.workload) if isinstance(one, AlikeGpus) else 1
        numbers[one.gpu] += gpus
        count += [_partitions_of(one)] * gpus
        sharing += [_sharing(resolved, one)] * gpus
    ids: list[str] = []
    types: list[str] = []
    nodes: list[str | None] = []
    indices: list[int | None] = []
    for entry in resolved.problem.fleet:
        ids += [f"{entry.gpu}/{number}" for number in range(numbers[entry.gpu])]
        types += [entry.gpu] * numbers[entry.gpu]
        for node, index in islice(node_places(entry), numbers[entry.gpu]):
            nodes.append(node)
            indices.append(index)
    own = [tuple(partitions[first:end]) for first, end in pairwise(accumulate(count, initial=0))]
    return tuple(records_of(PlannedGpu, id=ids, gpu=types, node=nodes, index=indices, sharing=sharing, partitions=own))


def _partitions_of(one: AllocatedGpu | AlikeGpus) -> int:
    if isinstance(one, AlikeGpus):
        return len(one.sizes)
    return len(one.residents) if isinstance(one, MpsGpu) else len(one.segments)


def _sharing(resolved: ResolvedProblem, one: AllocatedGpu | AlikeGpus) -> Sharing:
    if isinstance(one, MpsGpu):
        return "mps"
    return resolved.sizes[one.sizes[0] if isinstance(one, AlikeGpus) else one.segments[0].size].sharing


def node_places(entry: FleetEntry) -> Iterator[tuple[str | None, int | None]]:
    """Yields node and index for one GPU of a type after the other; None where the fleet entry names no nodes."""
    for node in entry.nodes or ():
        yield from ((node.name, index) for index in range(node.count))
    yield from repeat((None, None))


def _placed(cut: CutGpu, profile_of: Sequence[str]) -> tuple[Sequence[Segment], Sequence[int | None]]:
    """
    Returns the segments of a GPU by their start, and the starts; a whole GPU has no start.

    `profile_of`: by index of a size the name of its MIG profile or cores, empty for a whole GPU.
    """
    if cut.starts is not None and profile_of[cut.segments[0].size]:
        by_start = sorted(zip(cut.starts, cut.segments, strict=True))
        return [segment for _, segment in by_start], [start for start, _ in by_start]
    segments = sorted(cut.segments)
    order, starts = places_of(cut.gpu, [size for size, _ in segments], profile_of)
    return [segments[i] for i in order], starts


def places_of(gpu: str, sizes: Sequence[int], profile_of: Sequence[str]) -> tuple[list[int], list[int | None]]:
    """Returns in which order partitions of ascending sizes stand on a GPU, and where each starts."""
    if not profile_of[sizes[0]]:
        return [0], [None]
    order, starts = _by_start(gpu, tuple([profile_of[size] for size in sizes]))
    return list(order), list(starts)


@cache
def _by_start(gpu: str, names: tuple[str, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns in which order instances of these profiles stand on a GPU, as indices, and where each starts."""
    if (cpu := load_cpus().get(gpu)) is not None:
        return _on_cores(cpu, names)
    waiting: dict[str, list[int]] = {}
    for i in reversed(range(len(names))):
        waiting.setdefault(names[i], []).append(i)
    layout = _layout(gpu, tuple(sorted(names)))
    return tuple(waiting[place.profile].pop() for place in layout), tuple(place.start for place in layout)


def _on_cores(cpu: Cpu, names: Sequence[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the same of partitions of a CPU; raises RuntimeError if they do not fit."""
    cores = [cores_named(name) for name in names]
    descending = sorted(range(len(cores)), key=lambda i: -cores[i])
    starts = starts_of(CoreTree.of(cpu), tuple(cores[i] for i in descending))
    if starts is None:
        raise RuntimeError(f"{', '.join(names)} do not fit on one {cpu.name}")
    by_start = sorted(zip(starts, descending, strict=True))
    return tuple(i for _, i in by_start), tuple(start for start, _ in by_start)


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


def _predicted(resolved: ResolvedProblem, shared: Sequence[MpsGpu]) -> Iterator[tuple[SharedPrediction, int]]:
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


def resident_figures(one: MpsGpu, prediction: SharedPrediction, row: int | EllipsisType = ...) -> list[ResidentFigures]:
    """Returns what each resident of a GPU achieves; `row`: the GPU's in the prediction, if that is of several."""
    latency_ms, throughput_rps = prediction.latency_ms[row], prediction.throughput_rps[row]
    causes_ms = {cause: part[row] for cause, part in prediction.causes_ms.items()}
    return [
        ResidentFigures(
            sm_percent=resident.percent,
            batch=resident.batch,
            latency_ms=float(latency_ms[i]),
            capacity_rps=float(throughput_rps[i]),
            causes_ms={cause: float(part[i]) for cause, part in causes_ms.items()},
            gpu=one.gpu,
        )
        for i, resident in enumerate(one.residents)
    ]
