"""From a planner's decision (which partitions stand on which GPU) to a complete plan."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .digest import reference
from .geometry import Layout, placement_rules, roomiest_layout
from .model.plan import Bound, Partition, Plan, PlannedGpu, Search, Served, Status, Unserved
from .performance.resolve import FleetType, ResolvedProblem

UNKNOWN_BOUND = Bound(cost_per_hour=None, gpus=None, method="none: this planner computes no bound")


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


def assemble(
    resolved: ResolvedProblem,
    cut_gpus: Iterable[CutGpu],
    *,
    planner: str,
    status: Status,
    bound: Bound,
    search: Search,
) -> Plan:
    """
    Places the segments, splits the rates, numbers the GPUs and adds up the cost.

    A workload's rate is split over its partitions in proportion to their capacity, so that all of them are
    loaded equally. GPUs of a fleet entry with nodes fill its nodes in their order.
    """
    used = [cut for cut in cut_gpus if cut.segments]
    order = {entry.gpu.name: i for i, entry in enumerate(resolved.fleet)}
    used.sort(key=lambda cut: order[cut.gpu])
    total_rps: defaultdict[int, float] = defaultdict(float)
    for cut in used:
        for segment in cut.segments:
            total_rps[segment.workload] += float(resolved.capacity_rps[segment.workload, segment.size])
    numbers: Counter[str] = Counter()
    gpus = []
    for cut in used:
        number = numbers[cut.gpu]
        numbers[cut.gpu] += 1
        node, index = _node_of(resolved.fleet_by_name[cut.gpu], resolved, number)
        partitions = tuple(
            _partition(resolved, segment, start, total_rps) for start, segment in sorted(_placed(resolved, cut))
        )
        gpus.append(
            PlannedGpu(
                id=f"{cut.gpu}/{number}", gpu=cut.gpu, node=node, index=index, sharing="mig", partitions=partitions
            )
        )
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
        gpus=tuple(gpus),
        unserved=(),
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
        metrics=None,
    )


def gap(cost: float | None, bound: Bound) -> float | None:
    """Returns (cost - bound) / bound, 0 if they agree but for rounding; None if either is unknown."""
    if cost is None or bound.cost_per_hour is None:
        return None
    if abs(cost - bound.cost_per_hour) <= 1e-9 * max(cost, 1.0):
        return 0.0
    return max(0.0, cost - bound.cost_per_hour) / bound.cost_per_hour if bound.cost_per_hour else None


def _placed(resolved: ResolvedProblem, cut: CutGpu) -> list[tuple[int, Segment]]:
    """Returns the start of each segment."""
    if cut.starts is not None:
        return list(zip(cut.starts, cut.segments, strict=True))
    geometry = resolved.fleet_by_name[cut.gpu].geometry
    names = [resolved.sizes[segment.size].mig.name for segment in cut.segments]
    usual = {profile.name for profile in geometry.profiles if profile.kind == "base"}
    layout: Layout | None = roomiest_layout(placement_rules(geometry, usual | set(names)), tuple(sorted(names)))
    if layout is None:
        raise RuntimeError(f"{', '.join(names)} do not fit on one {cut.gpu}")
    by_name: dict[str, list[Segment]] = {}
    for segment, name in sorted(zip(cut.segments, names, strict=True), reverse=True):
        by_name.setdefault(name, []).append(segment)
    return [(placement.start, by_name[placement.profile].pop()) for placement in layout]


def _partition(
    resolved: ResolvedProblem, segment: Segment, start: int, total_rps: defaultdict[int, float]
) -> Partition:
    w, k = segment.workload, segment.size
    capacity = float(resolved.capacity_rps[w, k])
    share = capacity / total_rps[w]
    served = Served(
        workload=resolved.problem.workloads[w].name,
        batch=int(resolved.batch[w, k]),
        processes=int(resolved.processes[w, k]),
        latency_ms=float(resolved.latency_ms[w, k]),
        capacity_rps=capacity,
        rate_rps=min(capacity, float(resolved.required_rps[w]) * share),
    )
    return Partition(
        mig_profile=resolved.sizes[k].mig.name, start=start, sm_percent=None, duty_cycle_ms=None, serves=(served,)
    )


def _node_of(entry: FleetType, resolved: ResolvedProblem, number: int) -> tuple[str | None, int | None]:
    """Returns node and index of the GPU with a running number; None where the fleet entry names no nodes."""
    nodes = next(e.nodes for e in resolved.problem.fleet if e.gpu == entry.gpu.name) or ()
    for node in nodes:
        if number < node.count:
            return node.name, number
        number -= node.count
    return None, None
