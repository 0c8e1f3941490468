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

A GPU that one workload uses whole is an interval over the full axis. This holds where disjoint placements are all
that MIG asks for, as it is for the plain profiles of every GPU in the catalogue; profiles with media engines are
refused.
"""

import time
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Literal

import pulp
from pulp.apis.coin_api import pulp_cbc_path  # the CBC that PuLP brings; a system's own may be another version

from ..decided import CutGpu, Segment
from ..performance.resolve import FleetType, PartitionSize, ResolvedProblem


@dataclass(frozen=True)
class IntervalPacking:
    """What CBC gave; `gpus` is None where it gave no plan."""

    stopped: Literal["proved", "time_limit", "infeasible"]
    solver: str
    gpus: list[CutGpu] | None


@dataclass(frozen=True)
class _Program:
    """The integer program without an objective."""

    program: pulp.LpProblem
    gpus: dict[str, pulp.LpVariable]
    missing: list[pulp.LpVariable]
    """GPUs beyond those available, by type that is limited."""
    instances: dict[tuple[int, int], pulp.LpVariable]
    served: dict[tuple[int, int], pulp.LpVariable]


def coupled_sizes(resolved: ResolvedProblem) -> list[str]:
    """Returns the partition sizes with engine limits, for which disjoint placements are not enough."""
    return [str(size) for size in resolved.sizes if size.mig is not None and size.mig.kind == "variant"]


def solve_interval_packing(resolved: ResolvedProblem, *, time_limit_s: float) -> IntervalPacking:
    """
    Solves the interval formulation with CBC; the problem must have no `coupled_sizes`.

    Whether the available GPUs are enough is asked first, as a program that always has a solution: CBC
    reports a proven infeasibility of the integers in the same words as a search that was stopped.
    """
    started = time.monotonic()
    model = _program(resolved)
    if model.missing:
        model.program.setObjective(pulp.lpSum(model.missing))
        status = _run_cbc(model.program, time_limit_s)
        if status != pulp.LpSolutionOptimal:
            return IntervalPacking("time_limit", _solver_text(status), None)
        if pulp.value(model.program.objective) > 0.5:
            return IntervalPacking("infeasible", "CBC through PuLP: GPUs are missing, proven", None)
        for variable in model.missing:
            variable.upBound = 0
    cost = pulp.lpSum(entry.price_per_hour * model.gpus[entry.gpu.name] for entry in resolved.fleet)
    model.program.setObjective(cost)
    status = _run_cbc(model.program, time_limit_s - (time.monotonic() - started))
    if status not in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
        return IntervalPacking("time_limit", _solver_text(status), None)
    counts = {key: round(variable.value() or 0) for key, variable in model.served.items()}
    placed = {key: round(variable.value() or 0) for key, variable in model.instances.items()}
    stopped: Literal["proved", "time_limit"] = "proved" if status == pulp.LpSolutionOptimal else "time_limit"
    return IntervalPacking(stopped, _solver_text(status), _coloured(resolved, counts, placed))


def _program(resolved: ResolvedProblem) -> _Program:
    sizes = resolved.sizes
    program = pulp.LpProblem("mig_interval_packing", pulp.LpMinimize)
    gpus = {e.gpu.name: program.add_variable(f"m_{g}", 0, cat="Integer") for g, e in enumerate(resolved.fleet)}
    instances = {
        (k, start): program.add_variable(f"z_{k}_{start}", 0, cat="Integer")
        for k, size in enumerate(sizes)
        for start in _starts(size)
    }
    missing = []
    for g, entry in enumerate(resolved.fleet):
        if entry.available is not None:
            missing.append(program.add_variable(f"missing_{g}", 0, cat="Integer"))
            program += gpus[entry.gpu.name] <= entry.available + missing[-1]
        own = [(k, start) for k, start in instances if sizes[k].gpu == entry.gpu.name]
        for slice_index in range(_axis(entry)):
            covering = [
                instances[k, start] for k, start in own if start <= slice_index < start + _length(resolved, sizes[k])
            ]
            program += pulp.lpSum(covering) <= gpus[entry.gpu.name]
    served = _served_variables(resolved, program)
    for k, size in enumerate(sizes):
        taken = pulp.lpSum(variable for (_, other), variable in served.items() if other == k)
        program += taken == pulp.lpSum(instances[k, start] for start in _starts(size))
    return _Program(program, gpus, missing, instances, served)


def _served_variables(resolved: ResolvedProblem, program: pulp.LpProblem) -> dict[tuple[int, int], pulp.LpVariable]:
    """Adds n_wk and what each workload asks of them."""
    served: dict[tuple[int, int], pulp.LpVariable] = {}
    for w, workload in enumerate(resolved.problem.workloads):
        rate, capacity = float(resolved.required_rps[w]), resolved.capacity_rps[w]
        usable = [k for k in range(len(resolved.sizes)) if capacity[k] > 0]
        for k in usable:
            most = max(ceil(rate / capacity[k]), workload.min_replicas)
            served[w, k] = program.add_variable(f"n_{w}_{k}", 0, most, cat="Integer")
        program += pulp.lpSum(min(capacity[k] / rate, 1e4) * served[w, k] for k in usable) >= 1
        replicas = pulp.lpSum(served[w, k] for k in usable)
        if workload.min_replicas > 1:
            program += replicas >= workload.min_replicas
        if workload.max_replicas is not None:
            program += replicas <= workload.max_replicas
    return served


def _run_cbc(program: pulp.LpProblem, time_limit_s: float) -> int:
    """Returns PuLP's solution status."""
    path = str(Path(pulp_cbc_path).resolve())
    program.solve(pulp.COIN_CMD(path=path, msg=False, timeLimit=max(time_limit_s, 0.01), gapRel=0.0))
    return int(program.sol_status)


def _solver_text(status: int) -> str:
    return f"CBC through PuLP: {pulp.LpSolution[status].lower()}"


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
            free_from[gpu_idx] = start + _length(resolved, resolved.sizes[k])
            held[gpu_idx].append((start, Segment(k, waiting[k].pop())))
        gpus += [
            CutGpu(entry.gpu.name, tuple(segment for _, segment in on), tuple(start for start, _ in on)) for on in held
        ]
    return gpus


def _axis(entry: FleetType) -> int:
    """Returns the length of a GPU's axis: its placement units, 1 where it has no MIG."""
    return entry.gpu.mig.placement_units if entry.gpu.mig else 1


def _starts(size: PartitionSize) -> tuple[int, ...]:
    return size.mig.starts if size.mig else (0,)


def _length(resolved: ResolvedProblem, size: PartitionSize) -> int:
    return size.mig.memory_slices if size.mig else _axis(resolved.fleet_by_name[size.gpu])
