"""From the answer of a search around what runs to a plan: names, places, operating points and rates."""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

import numpy as np

from ...allocation.allocated import AllocatedGpu, CutGpu, Segment
from ...allocation.assembly import UNKNOWN_BOUND, assemble
from ...exact.replanning.running import KeptGpu, Replanning, RunningPartition, run_by
from ...model.objective import COST
from ...model.plan import Bound, Plan, PlannedGpu, Search, Served, Status
from ...model.stop_reason import StopReason
from ...performance.latency_rules.assembly import held_ms
from ...performance.latency_rules.full_batch import batch_time_ms
from ...performance.latency_rules.rules import percentile_in_turns
from ...performance.latency_rules.server_sets import carried_together, is_by_set
from ...performance.operating_points import OperatingPoints
from ...performance.resolve import ResolvedProblem
from .trade import NAME
from .what_runs import Running, in_the_fleet


def plan_of(
    resolved: ResolvedProblem, running: Plan, known: Running, answer: Replanning, search: Search, bound: Bound
) -> Plan:
    """Returns the plan of an answer; the problem has the operating points that its new partitions run."""
    decided = list(_decided(resolved, known, answer))
    order = {entry.gpu.name: i for i, entry in enumerate(resolved.fleet)}
    decided.sort(key=lambda entry: order[entry[0].gpu])  # as `assemble` does
    gpus_of = [one for one, _ in decided]
    plan = assemble(resolved, gpus_of, planner=NAME, bound=UNKNOWN_BOUND, search=search)
    numbers = [number for _, number in decided]
    there = [gpu for gpu in running.gpus if in_the_fleet(resolved.problem, gpu)]
    gpus = _with_their_names(running, there, known, plan.gpus, numbers)
    gpus = _with_running_points(resolved, answer.kept or (), gpus, numbers)
    left = COST.gap(plan.cost_per_hour, bound.cost_per_hour)
    if (
        search.stopped == StopReason.PROVED and left != 0.0
    ):  # what is proven is the trade: moves keep the cost above its bound
        search = search.model_copy(update={"stopped": StopReason.GAP_LEFT})
    status = Status.OPTIMAL if search.stopped == StopReason.PROVED else Status.FEASIBLE
    update = {"gpus": tuple(gpus), "bound": bound, "gap": left, "status": status, "search": search}
    return plan.model_copy(update=update)


def _decided(
    resolved: ResolvedProblem, known: Running, answer: Replanning
) -> Iterator[tuple[AllocatedGpu, int | None]]:
    """Yields the GPUs of the new plan, each with the number of the running GPU that it is; None: another one."""
    yield from answer.placed
    waiting: defaultdict[tuple[str, str], deque[Segment]] = defaultdict(deque)
    for (w, k), times in sorted((answer.partitions or {}).items()):
        size = resolved.sizes[k]
        waiting[size.gpu, size.name].extend([Segment(k, w)] * times)
    for one in answer.kept or ():
        yield _kept_gpu(known, one, waiting), one.number
    for pattern, times in answer.patterns or ():
        for _ in range(times):
            queues = [waiting[pattern.gpu, profile] for profile in pattern.profiles]
            segments = tuple(queue.popleft() for queue in queues if queue)
            if segments:
                yield CutGpu(pattern.gpu, segments), None
    if left := sum(map(len, waiting.values())):
        raise RuntimeError(f"{left} partitions have no GPU; the solver's answer violates its own constraints")


def _kept_gpu(known: Running, one: KeptGpu, waiting: defaultdict[tuple[str, str], deque[Segment]]) -> CutGpu:
    gpu = known.gpus[one.number].gpu
    placed = [(partition.start, Segment(partition.size, partition.workload)) for partition in one.kept]
    placed += [
        (place.start, waiting[gpu, place.profile].popleft()) for place in one.added if waiting[gpu, place.profile]
    ]
    starts = tuple(start for start, _ in placed if start is not None)
    return CutGpu(gpu, tuple(segment for _, segment in placed), starts or None)


def _with_their_names(
    running: Plan,
    there: Sequence[PlannedGpu],
    known: Running,
    gpus: Sequence[PlannedGpu],
    numbers: Sequence[int | None],
) -> list[PlannedGpu]:
    """Gives the GPUs on which something stays their own id, node and index, and the others what is free."""
    stay = {known.planned[number].id for number in numbers if number is not None}
    places = {(gpu.node, gpu.index) for gpu in known.planned if gpu.id in stay}
    left = [gpu for gpu in there if gpu.id not in stay]
    taken = {gpu.id for gpu in running.gpus}
    named = []
    for gpu, number in zip(gpus, numbers, strict=True):
        own = known.planned[number] if number is not None else next((one for one in left if one.gpu == gpu.gpu), None)
        if own is not None:
            if number is None:
                left.remove(own)
            named.append(gpu.model_copy(update={"id": own.id, "node": own.node, "index": own.index}))
            continue
        free = next(count for count in range(len(taken) + 1) if f"{gpu.gpu}/{count}" not in taken)
        taken.add(f"{gpu.gpu}/{free}")
        is_free = gpu.node is not None and (gpu.node, gpu.index) not in places
        place = {} if is_free else {"node": None, "index": None}
        named.append(gpu.model_copy(update={"id": f"{gpu.gpu}/{free}", **place}))
    return named


def _with_running_points(
    resolved: ResolvedProblem, kept: Sequence[KeptGpu], gpus: Sequence[PlannedGpu], numbers: Sequence[int | None]
) -> list[PlannedGpu]:
    """Gives what stays the operating points at which it runs, and deals the rates anew, in proportion to capacity."""
    staying: dict[tuple[int | None, int | None], RunningPartition] = {
        (one.number, partition.start): partition for one in kept for partition in one.kept
    }
    contents = [
        [
            _as_it_runs(resolved, partition.serves[0], staying.get((number, partition.start)))
            for partition in gpu.partitions
        ]
        for gpu, number in zip(gpus, numbers, strict=True)
    ]
    dealt = iter(_dealt(resolved, _promised_beside_others(resolved, [one for content in contents for one in content])))
    return [
        gpu.model_copy(
            update={
                "partitions": tuple(
                    partition.model_copy(update={"serves": (next(dealt),)}) for partition in gpu.partitions
                )
            }
        )
        for gpu in gpus
    ]


def _as_it_runs(resolved: ResolvedProblem, served: Served, own: RunningPartition | None) -> Served:
    """Returns what a partition serves, at the operating point at which it runs; None: it is new."""
    if own is None or (own.batch, own.processes) == (served.batch, served.processes):
        return served
    held = None
    if served.dispatch_after_ms is not None:
        time_ms = batch_time_ms(run_by([own]))
        held = float(held_ms(np.array([own.batch]), time_ms, resolved.asked.slo_ms[[own.workload]])[0])
    return served.model_copy(
        update={
            "batch": own.batch,
            "processes": own.processes,
            "latency_ms": own.latency_ms,
            "capacity_rps": own.throughput_rps,
            "promised_rps": None if served.promised_rps is None else own.capacity_rps,
            "dispatch_after_ms": held,
        }
    )


def _promised_beside_others(resolved: ResolvedProblem, served: Sequence[Served]) -> list[Served]:
    """Returns what partitions serve with what they are promised; where that is no sum, beside all of their service."""
    if not is_by_set(resolved.problem.settings):
        return list(served)
    points = OperatingPoints(
        np.array([one.batch for one in served], dtype=np.int64),
        np.array([one.processes for one in served], dtype=np.int64),
        np.array([one.latency_ms for one in served]),
        np.array([one.capacity_rps for one in served]),
        np.full(len(served), np.nan),
    )
    number = {workload.name: w for w, workload in enumerate(resolved.problem.workloads)}
    of_workload = np.array([number[one.workload] for one in served], dtype=np.int64)
    rule = percentile_in_turns(resolved.problem.settings)
    promised = carried_together(rule, points, of_workload, resolved.asked)
    return [one.model_copy(update={"promised_rps": rps}) for one, rps in zip(served, promised.tolist(), strict=True)]


def _dealt(resolved: ResolvedProblem, served: Sequence[Served]) -> Iterator[Served]:
    """Yields what partitions serve with their parts of the rates."""
    total: defaultdict[str, float] = defaultdict(float)
    for one in served:
        total[one.workload] += one.carries_rps
    names = [workload.name for workload in resolved.problem.workloads]
    required = dict(zip(names, resolved.required_rps.tolist(), strict=True))
    for one in served:
        rate = required[one.workload] * one.carries_rps / total[one.workload]
        yield one.model_copy(update={"rate_rps": min(one.carries_rps, rate)})
