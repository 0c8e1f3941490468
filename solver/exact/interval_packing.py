"""
The MIG cutting stock once more, modelled without layouts and solved by CBC: a cross-check of `exact`.

Instances of a GPU are intervals on its axis of memory slices. A set of intervals can be put on N GPUs, no two
overlapping on one of them, if and only if no memory slice is covered more than N times: intervals form a perfect
graph, and colouring them by rising start with the lowest free colour uses as many colours as the deepest
overlap (Golumbic, Algorithmic Graph Theory and Perfect Graphs, ch. 8). So no layout needs to be listed:

    z_gks   instances of MIG profile k that start at s, over all GPUs of type g
    m_g     GPUs of type g
    n_wk    partitions of size k that serve workload w

    min   sum_g c_g m_g
    s.t.  sum of z_gks that cover slice j  <=  m_g                 for every g, j
          sum_w n_wk  =  sum_s z_gks                               for every size k of g
          sum_k T_wk n_wk >= R_w;   min_w <= sum_k n_wk <= max_w   for every w
          m_g <= N_g

This holds where disjoint placements are all that MIG asks for, as it is for the plain profiles of every GPU in
the catalogue; profiles with media engines are refused.
"""

from dataclasses import dataclass
from math import ceil
from typing import Literal

import pulp

from ..assembly import CutGpu, Segment
from ..performance.resolve import ResolvedProblem


@dataclass(frozen=True)
class IntervalPacking:
    """What CBC gave; `gpus` is None where it gave no plan."""

    stopped: Literal["proved", "time_limit", "infeasible"]
    solver: str
    gpus: list[CutGpu] | None


_STOPPED: dict[int, Literal["proved", "time_limit", "infeasible"]] = {
    pulp.LpSolutionOptimal: "proved",
    pulp.LpSolutionIntegerFeasible: "time_limit",
    pulp.LpSolutionNoSolutionFound: "time_limit",
    pulp.LpSolutionInfeasible: "infeasible",
}


def solve_interval_packing(resolved: ResolvedProblem, *, time_limit_s: float) -> IntervalPacking:
    """
    Solves the interval formulation with CBC.

    Raises
    ------
    ValueError
        If a profile with media engines is used, for which disjointness is not enough.
    """
    problem, sizes = resolved.problem, resolved.sizes
    if coupled := [str(size) for size in sizes if size.mig.kind == "variant"]:
        raise ValueError(f"engine limits couple instances beyond their position: {', '.join(coupled)}")
    program = pulp.LpProblem("mig_interval_packing", pulp.LpMinimize)
    gpus = {
        entry.gpu.name: pulp.LpVariable(f"m_{g}", 0, entry.available, cat="Integer")
        for g, entry in enumerate(resolved.fleet)
    }
    instances = {
        (k, start): pulp.LpVariable(f"z_{k}_{start}", 0, cat="Integer")
        for k, size in enumerate(sizes)
        for start in size.mig.starts
    }
    program += pulp.lpSum(entry.price_per_hour * gpus[entry.gpu.name] for entry in resolved.fleet)
    for entry in resolved.fleet:
        own = [(k, start) for k, start in instances if sizes[k].gpu == entry.gpu.name]
        for slice_index in range(entry.geometry.placement_units):
            covering = [
                instances[k, start] for k, start in own if start <= slice_index < start + sizes[k].mig.memory_slices
            ]
            program += pulp.lpSum(covering) <= gpus[entry.gpu.name]
    served: dict[tuple[int, int], pulp.LpVariable] = {}
    for w, workload in enumerate(problem.workloads):
        rate, capacity = float(resolved.required_rps[w]), resolved.capacity_rps[w]
        for k in range(len(sizes)):
            if capacity[k] > 0:
                most = max(ceil(rate / capacity[k]), workload.min_replicas)
                served[w, k] = pulp.LpVariable(f"n_{w}_{k}", 0, most, cat="Integer")
        of_workload = [k for k in range(len(sizes)) if (w, k) in served]
        program += pulp.lpSum(min(capacity[k] / rate, 1e4) * served[w, k] for k in of_workload) >= 1
        replicas = pulp.lpSum(served[w, k] for k in of_workload)
        if workload.min_replicas > 1:
            program += replicas >= workload.min_replicas
        if workload.max_replicas is not None:
            program += replicas <= workload.max_replicas
    for k, size in enumerate(sizes):
        taken = pulp.lpSum(variable for (_, other), variable in served.items() if other == k)
        program += taken == pulp.lpSum(instances[k, start] for start in size.mig.starts)

    step = min(entry.price_per_hour for entry in resolved.fleet) if len(resolved.fleet) == 1 else 0.0
    program.solve(pulp.PULP_CBC_CMD(msg=False, timeLimit=time_limit_s, gapAbs=0.999 * step, gapRel=0.0))
    stopped = _STOPPED.get(program.sol_status)
    if stopped is None:
        raise RuntimeError(f"CBC ended with {pulp.LpSolution[program.sol_status]}")
    solver = f"CBC through PuLP: {pulp.LpSolution[program.sol_status].lower()}"
    if program.sol_status not in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
        return IntervalPacking(stopped, solver, None)
    counts = {key: round(variable.value() or 0) for key, variable in served.items()}
    placed = {key: round(variable.value() or 0) for key, variable in instances.items()}
    return IntervalPacking(stopped, solver, _coloured(resolved, counts, placed))


def _coloured(
    resolved: ResolvedProblem, counts: dict[tuple[int, int], int], placed: dict[tuple[int, int], int]
) -> list[CutGpu]:
    """Puts the instances on GPUs: by rising start, each on the first GPU that is free there."""
    waiting: dict[int, list[int]] = {}
    for (w, k), times in sorted(counts.items(), reverse=True):
        waiting.setdefault(k, []).extend([w] * times)
    gpus = []
    for entry in resolved.fleet:
        intervals = sorted(
            (start, k)
            for (k, start), times in placed.items()
            if resolved.sizes[k].gpu == entry.gpu.name
            for _ in range(times)
        )
        free_from: list[int] = []
        held: list[list[tuple[int, Segment]]] = []
        for start, k in intervals:
            gpu_idx = next((i for i, end in enumerate(free_from) if end <= start), len(free_from))
            if gpu_idx == len(free_from):
                free_from.append(0)
                held.append([])
            free_from[gpu_idx] = start + resolved.sizes[k].mig.memory_slices
            held[gpu_idx].append((start, Segment(k, waiting[k].pop())))
        gpus += [
            CutGpu(entry.gpu.name, tuple(segment for _, segment in on), tuple(start for start, _ in on)) for on in held
        ]
    return gpus
