"""A plan for changed rates that starts from what runs: which partitions may stay, which do, and what it costs."""

import time
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from ..allocation.allocated import CutGpu, Segment
from ..allocation.assembly import UNKNOWN_BOUND, assemble, without_plan
from ..exact.fleet.decomposition import DecomposedAnswer, solve_by_prices
from ..exact.replanning.kept_plans import kept_as_it_runs, made_anew, total_per_hour
from ..exact.replanning.replanning import KeptGpu, Replanning, RunningGpu, RunningPartition, solve_replanning
from ..exact.shedding.shortfall import shortfall
from ..model.errors import NoPlanError
from ..model.objective import COST
from ..model.plan import Bound, Partition, Plan, PlannedGpu, Search, Served, Status, Unserved
from ..model.problem import Problem
from ..model.replan_report import ReplanReport
from ..model.stop_reason import StopReason
from ..performance.operating_points import WHOLE_GPU
from ..performance.resolve import ResolvedProblem, usable_points
from ..runtime.interruption import offer

NAME = "replan"

FOR_THE_BOUND, FOR_A_START = 0.3, 0.1
"""Parts of the time limit for the bound on the cost of any plan, and for a plan to begin with."""


@dataclass(frozen=True)
class Running:
    """What runs, as far as the problem knows it."""

    gpus: tuple[RunningGpu, ...]
    """Those on which something may stay."""
    planned: tuple[PlannedGpu, ...]
    """The same as the running plan names them."""
    served: dict[tuple[int, int | None], Served]
    """By GPU and start: what runs there."""
    must_move: frozenset[int]
    """Services that run and of which some partition may not stay."""


def replanned(
    resolved: ResolvedProblem,
    running: Plan,
    *,
    move_price: float | None,
    most_moves: int | None,
    time_limit_s: float,
) -> tuple[Plan, ReplanReport]:
    """
    Returns the plan and what it trades (exact/replanning/replanning.py); offers the best of both so far.

    Raises
    ------
    NoPlanError
        If no plan moves as few services as asked.
    """
    deadline = time.monotonic() + time_limit_s
    known = running_gpus(resolved, running)
    first = solve_by_prices(resolved, time_limit_s=FOR_THE_BOUND * time_limit_s)
    bound = Bound(cost_per_hour=first.answer.cost_bound, gpus=None, method=first.method)
    names = [workload.name for workload in resolved.problem.workloads]
    must_move = tuple(sorted(names[w] for w in known.must_move))
    if first.answer.stopped == StopReason.INFEASIBLE:
        search = Search(stopped=StopReason.INFEASIBLE, time_limit_s=time_limit_s, solver=first.answer.solver)

        def impossible(unserved: Sequence[Unserved]) -> Answer:
            plan = without_plan(resolved, unserved, planner=NAME, search=search)
            return plan, _report(must_move, move_price, most_moves, plan, must_move, None, False)

        left = deadline - time.monotonic()
        say = shortfall(resolved, on_answer=lambda unserved: offer(lambda _: impossible(unserved)), time_limit_s=left)
        return impossible(say)
    if most_moves is not None and most_moves < len(must_move):
        reason = "their operating points break a limit now, or their GPUs may not be used any more"
        raise NoPlanError(f"at most {most_moves} services may be moved, but {', '.join(must_move)} must be: {reason}")

    def told(answer: Replanning, stopped: StopReason) -> Answer:
        search = Search(stopped=stopped, time_limit_s=time_limit_s, solver=answer.solver)
        if answer.kept is None:
            plan = without_plan(resolved, (), planner=NAME, search=search, bound=bound)
            return plan, _report(must_move, move_price, most_moves, plan, must_move, answer.least, False)
        plan = _plan(resolved, running, known, answer, search, bound)
        moved = tuple(sorted(names[w] for w in answer.moved))
        return plan, _report(moved, move_price, most_moves, plan, must_move, answer.least, stopped == StopReason.PROVED)

    least = None if first.answer.cost_bound is None else first.answer.cost_bound + (move_price or 0.0) * len(must_move)
    nothing = Replanning(StopReason.TIME_LIMIT, first.answer.solver, least, frozenset(), None, None, None)
    offer(lambda stopped: told(nothing, stopped))
    start = _first_plan(resolved, known, first, move_price or 0.0, most_moves, FOR_A_START * time_limit_s)
    if start is not None:
        start = replace(start, least=least)
        offer(lambda stopped: told(start, stopped))
    answer = solve_replanning(
        resolved,
        known.gpus,
        known.must_move,
        move_price=move_price or 0.0,
        most_moves=most_moves,
        known_bound=first.answer.cost_bound,
        start=start,
        time_limit_s=deadline - time.monotonic(),
    )
    if answer.stopped == StopReason.INFEASIBLE:
        offer(lambda _: _refuse(f"no plan moves at most {most_moves} services"))
        _refuse(_too_few_moves(resolved, known, most_moves, deadline - time.monotonic()))
    return told(answer, answer.stopped)


Answer = tuple[Plan, ReplanReport]


def nothing_found(
    resolved: ResolvedProblem, running: Plan, stopped: StopReason, *, move_price: float | None, most_moves: int | None
) -> Answer:
    """Returns the answer of a search that is ended before it knows anything."""
    names = [workload.name for workload in resolved.problem.workloads]
    must_move = tuple(sorted(names[w] for w in running_gpus(resolved, running).must_move))
    plan = without_plan(resolved, (), planner=NAME, search=Search(stopped=stopped, time_limit_s=0.0, solver=None))
    return plan, _report(must_move, move_price, most_moves, plan, must_move, None, False)


def _refuse(reason: str) -> NoReturn:
    raise NoPlanError(reason)


def _first_plan(
    resolved: ResolvedProblem,
    known: Running,
    first: DecomposedAnswer,
    move_price: float,
    most_moves: int | None,
    time_limit_s: float,
) -> Replanning | None:
    """Returns the better of the plans that need no search (kept_plans.py), of those that move few enough."""
    kept = kept_as_it_runs(resolved, known.gpus, known.must_move, first.price, time_limit_s=time_limit_s)
    anew = made_anew(known.gpus, known.must_move, first.answer) if most_moves is None else None
    plans = [plan for plan in (kept, anew) if plan is not None]
    return min(plans, key=lambda plan: total_per_hour(resolved, known.gpus, plan, move_price), default=None)


def running_gpus(resolved: ResolvedProblem, running: Plan) -> Running:
    """Returns what runs, with the partitions that may stay under the problem as it is now."""
    number = {workload.name: w for w, workload in enumerate(resolved.problem.workloads)}
    size = {(one.gpu, one.name): k for k, one in enumerate(resolved.sizes)}
    found: list[tuple[PlannedGpu, list[RunningPartition]]] = []
    must_move: set[int] = set()
    for gpu in running.gpus:
        found.append((gpu, []))
        for partition in gpu.partitions:
            workloads = [number[served.workload] for served in partition.serves if served.workload in number]
            k = None if gpu.sharing == "mps" else size.get((gpu.gpu, partition.mig_profile or WHOLE_GPU))
            stays = None
            if k is not None and len(partition.serves) == len(workloads) == 1 and in_the_fleet(resolved.problem, gpu):
                stays = _stays(resolved, workloads[0], k, partition)
            if stays is None:
                must_move.update(workloads)
            else:
                found[-1][1].append(stays)
    of_gpus = [(gpu, tuple(one for one in own if one.workload not in must_move)) for gpu, own in found]
    kept = [(gpu, own) for gpu, own in of_gpus if own]
    gpus = tuple(gpu for gpu, _ in kept)
    return Running(tuple(RunningGpu(gpu.gpu, own) for gpu, own in kept), gpus, _served_at(gpus), frozenset(must_move))


def _served_at(gpus: Sequence[PlannedGpu]) -> dict[tuple[int, int | None], Served]:
    """Returns what runs by number of its GPU and start of its instance."""
    return {
        (i, partition.start): partition.serves[0]
        for i, gpu in enumerate(gpus)
        for partition in gpu.partitions
        if partition.serves
    }


def _stays(resolved: ResolvedProblem, workload: int, size: int, partition: Partition) -> RunningPartition | None:
    """Returns a partition that serves one workload as it may go on to do; None: it may not."""
    capacity = _capacity_rps(resolved, workload, size, partition.serves[0])
    return None if capacity is None else RunningPartition(workload, size, partition.start, capacity)


def in_the_fleet(problem: Problem, gpu: PlannedGpu) -> bool:
    """Tells whether the fleet still has a running GPU; one without a node, or of a fleet without nodes, may be any."""
    nodes = {entry.gpu: entry.nodes for entry in problem.fleet}.get(gpu.gpu)
    if nodes is None or gpu.node is None:
        return True
    return any(node.name == gpu.node and gpu.index is not None and gpu.index < node.count for node in nodes)


def _capacity_rps(resolved: ResolvedProblem, w: int, k: int, served: Served) -> float | None:
    """Returns the greatest rate of a running operating point; None: it breaks a limit of the problem as it is now."""
    workload = resolved.problem.workloads[w]
    points = usable_points(resolved.problem.settings.max_processes, workload, resolved.sizes[k], resolved.points)
    if points is None:
        return None
    own = (points.batch == served.batch) & (points.processes == served.processes)
    greatest = resolved.rule.greatest_rps(points.where(own), resolved.asked.of([w]))
    return float(greatest[0]) if greatest.any() else None


def _too_few_moves(resolved: ResolvedProblem, known: Running, most_moves: int | None, time_limit_s: float) -> str:
    # The price outweighs all that the costs of plans can differ by.
    price = 1e3 * sum(entry.price_per_hour for entry in resolved.fleet)
    fewest = solve_replanning(resolved, known.gpus, known.must_move, move_price=price, time_limit_s=time_limit_s)
    if fewest.kept is None:
        return f"no plan moves at most {most_moves} services"
    names = sorted(resolved.problem.workloads[w].name for w in fewest.moved)
    return f"no plan moves at most {most_moves} services; moving {len(names)} would do: {', '.join(names)}"


def _report(
    moved: tuple[str, ...],
    move_price: float | None,
    most_moves: int | None,
    plan: Plan,
    must_move: tuple[str, ...],
    least: float | None,
    proven: bool,
) -> ReplanReport:
    total = None if plan.cost_per_hour is None else plan.cost_per_hour + (move_price or 0.0) * len(moved)
    return ReplanReport(
        moved=moved if plan.gpus else (),
        must_move=must_move,
        move_price_per_hour=move_price,
        most_moves=most_moves,
        total_per_hour=total,
        least_total_per_hour=least if least is None or total is None else min(least, total),
        proven=proven,
    )


def _plan(
    resolved: ResolvedProblem, running: Plan, known: Running, answer: Replanning, search: Search, bound: Bound
) -> Plan:
    decided = list(_decided(resolved, known, answer))
    order = {entry.gpu.name: i for i, entry in enumerate(resolved.fleet)}
    decided.sort(key=lambda entry: order[entry[0].gpu])  # as `assemble` does
    cut = [one for one, _ in decided]
    plan = assemble(resolved, cut, planner=NAME, bound=UNKNOWN_BOUND, search=search)
    numbers = [number for _, number in decided]
    there = [gpu for gpu in running.gpus if in_the_fleet(resolved.problem, gpu)]
    gpus = _with_their_names(running, there, known, plan.gpus, numbers)
    gpus = _with_running_points(resolved, known, answer.kept or (), gpus, numbers)
    left = COST.gap(plan.cost_per_hour, bound.cost_per_hour)
    if (
        search.stopped == StopReason.PROVED and left != 0.0
    ):  # what is proven is the trade: moves keep the cost above its bound
        search = search.model_copy(update={"stopped": StopReason.GAP_LEFT})
    status = Status.OPTIMAL if search.stopped == StopReason.PROVED else Status.FEASIBLE
    update = {"gpus": tuple(gpus), "bound": bound, "gap": left, "status": status, "search": search}
    return plan.model_copy(update=update)


def _decided(resolved: ResolvedProblem, known: Running, answer: Replanning) -> Iterator[tuple[CutGpu, int | None]]:
    """Yields the GPUs of the new plan, each with the number of the running GPU that it is; None: another one."""
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
    resolved: ResolvedProblem,
    known: Running,
    kept: Sequence[KeptGpu],
    gpus: Sequence[PlannedGpu],
    numbers: Sequence[int | None],
) -> list[PlannedGpu]:
    """Gives what stays the operating points at which it runs, and deals the rates anew, in proportion to capacity."""
    staying = {(one.number, partition.start): partition.capacity_rps for one in kept for partition in one.kept}

    def as_it_runs(number: int | None, partition: Partition) -> Served:
        served = partition.serves[0]
        own = staying.get((number, partition.start)) if number is not None else None
        if own is None or number is None:
            return served
        runs = known.served[number, partition.start]
        if (runs.batch, runs.processes) == (served.batch, served.processes):
            return served
        latency_ms, rps = _predicted(resolved, known.gpus[number].gpu, partition, runs)
        promised = None if served.promised_rps is None else own
        figures = {"batch": runs.batch, "processes": runs.processes, "latency_ms": latency_ms, "capacity_rps": rps}
        return served.model_copy(update={**figures, "promised_rps": promised})

    contents = [
        [as_it_runs(number, partition) for partition in gpu.partitions]
        for gpu, number in zip(gpus, numbers, strict=True)
    ]
    total: defaultdict[str, float] = defaultdict(float)
    for served in (one for content in contents for one in content):
        total[served.workload] += served.carries_rps
    required = {
        workload.name: float(rate)
        for workload, rate in zip(resolved.problem.workloads, resolved.required_rps, strict=True)
    }

    def share(served: Served) -> Served:
        rate = required[served.workload] * served.carries_rps / total[served.workload]
        return served.model_copy(update={"rate_rps": min(served.carries_rps, rate)})

    return [
        gpu.model_copy(
            update={
                "partitions": tuple(
                    partition.model_copy(update={"serves": (share(served),)})
                    for partition, served in zip(gpu.partitions, content, strict=True)
                )
            }
        )
        for gpu, content in zip(gpus, contents, strict=True)
    ]


def _predicted(resolved: ResolvedProblem, gpu: str, partition: Partition, runs: Served) -> tuple[float, float]:
    """Returns the latency and the throughput of the operating point at which a partition runs."""
    workload = next(one for one in resolved.problem.workloads if one.name == runs.workload)
    points = resolved.points[workload.model, gpu][partition.mig_profile or WHOLE_GPU]
    own = (points.batch == runs.batch) & (points.processes == runs.processes)
    return float(points.latency_ms[own][0]), float(points.capacity_rps[own][0])
