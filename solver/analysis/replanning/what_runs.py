"""What runs, and which of its partitions may stay under the problem as it is now."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ...exact.replanning.running import RunningGpu, RunningPartition
from ...model.plan import Plan, PlannedGpu
from ...model.problem import Problem
from ...performance.latency_rules.rule import LatencyRule
from ...performance.loosest import loosest
from ...performance.operating_points import WHOLE_GPU
from ...performance.resolve import ResolvedProblem, usable_points


@dataclass(frozen=True)
class Running:
    """What runs, as far as the problem knows it."""

    gpus: tuple[RunningGpu, ...]
    """Those on which something may stay."""
    planned: tuple[PlannedGpu, ...]
    """The same as the running plan names them."""
    must_move: frozenset[int]
    """Services that run and of which some partition may not stay."""


def running_gpus(resolved: ResolvedProblem, running: Plan) -> Running:
    """Returns what runs, with the partitions that may stay under the problem as it is now."""
    number = {workload.name: w for w, workload in enumerate(resolved.problem.workloads)}
    size = {(one.gpu, one.name): k for k, one in enumerate(resolved.sizes)}
    found: list[tuple[PlannedGpu, list[RunningPartition]]] = []
    must_move: set[int] = set()
    any_rule = loosest(resolved).rule
    known: dict[tuple[int, int, int, int], RunningPartition | None] = {}
    for gpu in running.gpus:
        found.append((gpu, []))
        for partition in gpu.partitions:
            workloads = [number[served.workload] for served in partition.serves if served.workload in number]
            k = None if gpu.sharing == "mps" else size.get((gpu.gpu, partition.mig_profile or WHOLE_GPU))
            stays = None
            if k is not None and len(partition.serves) == len(workloads) == 1 and in_the_fleet(resolved.problem, gpu):
                served = partition.serves[0]
                alike = workloads[0], k, served.batch, served.processes
                if alike not in known:
                    known[alike] = _stays(resolved, any_rule, *alike)
                stays = None if (one := known[alike]) is None else replace(one, start=partition.start)
            if stays is None:
                must_move.update(workloads)
            else:
                found[-1][1].append(stays)
    of_gpus = [(gpu, tuple(one for one in own if one.workload not in must_move)) for gpu, own in found]
    kept = [(gpu, own) for gpu, own in of_gpus if own]
    gpus = tuple(gpu for gpu, _ in kept)
    return Running(tuple(RunningGpu(gpu.gpu, own) for gpu, own in kept), gpus, frozenset(must_move))


def names_of(resolved: ResolvedProblem, services: Iterable[int]) -> tuple[str, ...]:
    """Returns the names of services, sorted."""
    return tuple(sorted(resolved.problem.workloads[w].name for w in services))


def in_the_fleet(problem: Problem, gpu: PlannedGpu) -> bool:
    """Tells whether the fleet still has a running GPU; one without a node, or of a fleet without nodes, may be any."""
    nodes = {entry.gpu: entry.nodes for entry in problem.fleet}.get(gpu.gpu)
    if nodes is None or gpu.node is None:
        return True
    return any(node.name == gpu.node and gpu.index is not None and gpu.index < node.count for node in nodes)


def _stays(
    resolved: ResolvedProblem, any_rule: LatencyRule, w: int, k: int, batch: int, processes: int
) -> RunningPartition | None:
    """
    Returns a partition of one workload as it may go on, wherever it is; None: it breaks a limit of the problem.

    `any_rule`: by which no partition counts for less than in some plan; what holds at no rate by it holds in none.
    """
    workload = resolved.problem.workloads[w]
    points = usable_points(resolved.problem.settings.max_processes, workload, resolved.sizes[k], resolved.points)
    if points is None:
        return None
    own = points.where((points.batch == batch) & (points.processes == processes))
    asked = resolved.asked.of([w])
    if not any_rule.greatest_rps(own, asked).any():
        return None
    return RunningPartition(
        workload=w,
        size=k,
        start=None,
        batch=batch,
        processes=processes,
        latency_ms=float(own.latency_ms[0]),
        throughput_rps=float(own.capacity_rps[0]),
        capacity_rps=float(resolved.rule.greatest_rps(own, asked)[0]),
    )
