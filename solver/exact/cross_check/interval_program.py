"""
The interval formulation of the MIG cutting stock as a PuLP program, and its solutions as GPUs.

Instances of a GPU are intervals on its axis of memory slices. A set of intervals can be put on N GPUs, no two
overlapping on one of them, if and only if no memory slice is covered more than N times: intervals form a perfect
graph, and colouring them by rising start with the lowest free colour uses as many colours as the deepest
overlap (Golumbic, Algorithmic Graph Theory and Perfect Graphs, ch. 8). So no layout needs to be listed:

    z_gks   instances of MIG profile k that start at s, over all GPUs of type g
    m_g     GPUs of type g
    n_wk    partitions of size k that serve workload w

    s.t.  sum of z_gks that cover slice j  <=  m_g                 for every g, j
          sum_w n_wk  =  sum_s z_gks                               for every size k of g
          sum_k T_wk n_wk >= R_w;   min_w <= sum_k n_wk <= max_w   for every w
          m_g <= N_g + GPUs that are missing

A GPU that one workload uses whole is an interval over the full axis. This holds where disjoint placements are all
that MIG asks for, as it is for the plain profiles of every GPU in the catalogue; profiles with media engines are
refused.

A solver takes a rate that is met but for 1e-7 of it for met. Where partitions n that it chose do not meet the rate but
for TOLERANCE, those with no more of any size do not either: b_k in {0, 1}, sum_k b_k >= 1, n_wk >= (n_k + 1) b_k is
added (`Short`), which nothing that serves violates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import pulp

from ...allocation.allocated import CutGpu, Segment
from ...performance.fleet_types import FleetType, PartitionSize
from ...performance.resolve import ResolvedProblem

TOLERANCE = 1e-9
"""Part of a rate that may be missing and is rounding."""

Most = Sequence[int | None]
"""The most GPUs of each type of the fleet; None: as many as needed."""


@dataclass(frozen=True)
class Short:
    """Partitions of one workload that do not carry its rate."""

    workload: int
    counts: dict[int, int]
    """Size -> number, of every size that it can use."""


@dataclass(frozen=True)
class IntervalProgram:
    """The integer program without an objective."""

    program: pulp.LpProblem
    gpus: dict[str, pulp.LpVariable]
    missing: list[pulp.LpVariable]
    """GPUs beyond those of the fleet, by type that is limited."""
    instances: dict[tuple[int, int], pulp.LpVariable]
    served: dict[tuple[int, int], pulp.LpVariable]


def coupled_sizes(resolved: ResolvedProblem) -> list[str]:
    """Returns the partition sizes with engine limits, for which disjoint placements are not enough."""
    return [str(size) for size in resolved.sizes if size.mig is not None and size.mig.kind == "variant"]


def interval_program(resolved: ResolvedProblem, fleets: Sequence[Most], short: Sequence[Short] = ()) -> IntervalProgram:
    """
    Returns the program for GPUs of one of the fleets, and those that are missing there.

    `short`: partitions that are known not to carry their workload's rate.
    """
    sizes = resolved.sizes
    program = pulp.LpProblem("mig_interval_packing", pulp.LpMinimize)
    gpus = {e.gpu.name: program.add_variable(f"m_{g}", 0, cat="Integer") for g, e in enumerate(resolved.fleet)}
    instances = {
        (k, start): program.add_variable(f"z_{k}_{start}", 0, cat="Integer")
        for k, size in enumerate(sizes)
        for start in _starts(size)
    }
    missing = _limited_to(program, list(gpus.values()), fleets)
    for entry in resolved.fleet:
        own = [(k, start) for k, start in instances if sizes[k].gpu == entry.gpu.name]
        for slice_index in range(_axis(entry)):
            covering = [
                instances[k, start] for k, start in own if start <= slice_index < start + _length(resolved, sizes[k])
            ]
            program += pulp.lpSum(covering) <= gpus[entry.gpu.name]
    served = _served_variables(resolved, program)
    for number, one in enumerate(short):
        _exclude(program, served, one, number)
    for k, size in enumerate(sizes):
        taken = pulp.lpSum(variable for (_, other), variable in served.items() if other == k)
        program += taken == pulp.lpSum(instances[k, start] for start in _starts(size))
    return IntervalProgram(program, gpus, missing, instances, served)


def _limited_to(
    program: pulp.LpProblem, gpus: Sequence[pulp.LpVariable], fleets: Sequence[Most]
) -> list[pulp.LpVariable]:
    """Lets there be no more GPUs than one of the fleets has; returns the variables for those that are missing."""
    is_chosen = [program.add_variable(f"y_{v}", cat="Binary") for v in range(len(fleets))]
    program += pulp.lpSum(is_chosen) == 1
    missing = []
    for g, used in enumerate(gpus):
        most = [fleet[g] for fleet in fleets]
        if None not in most:
            missing.append(program.add_variable(f"missing_{g}", 0, cat="Integer"))
            there_are = pulp.lpSum(count * chosen for count, chosen in zip(most, is_chosen, strict=True))
            program += used <= there_are + missing[-1]
    return missing


def _served_variables(resolved: ResolvedProblem, program: pulp.LpProblem) -> dict[tuple[int, int], pulp.LpVariable]:
    """Adds n_wk and what each workload asks of them."""
    served: dict[tuple[int, int], pulp.LpVariable] = {}
    for w, workload in enumerate(resolved.problem.workloads):
        rate, capacity = float(resolved.required_rps[w]), resolved.capacity_rps[w]
        usable = [k for k in range(len(resolved.sizes)) if capacity[k] > 0]
        for k in usable:
            most = max(ceil(rate / capacity[k]), workload.min_replicas)
            served[w, k] = program.add_variable(f"n_{w}_{k}", 0, most, cat="Integer")
        program += pulp.lpSum(min(capacity[k] / rate, 1.0) * served[w, k] for k in usable) >= 1
        replicas = pulp.lpSum(served[w, k] for k in usable)
        if workload.min_replicas > 1:
            program += replicas >= workload.min_replicas
        if workload.max_replicas is not None:
            program += replicas <= workload.max_replicas
    return served


def _exclude(
    program: pulp.LpProblem, served: dict[tuple[int, int], pulp.LpVariable], short: Short, number: int
) -> None:
    """Asks for more partitions of some size than those that are too few."""
    is_more = []
    for k, count in short.counts.items():
        variable = served[short.workload, k]
        if count < variable.upBound:
            is_more.append(program.add_variable(f"b_{number}_{k}", cat="Binary"))
            program += variable >= (count + 1) * is_more[-1]
    program += pulp.lpSum(is_more) >= 1


def decoded(resolved: ResolvedProblem, model: IntervalProgram) -> list[CutGpu]:
    """Returns the GPUs of the solution."""
    counts = {key: round(variable.value() or 0) for key, variable in model.served.items()}
    placed = {key: round(variable.value() or 0) for key, variable in model.instances.items()}
    return _coloured(resolved, counts, placed)


def short_of_rate(resolved: ResolvedProblem, model: IntervalProgram) -> list[Short]:
    """Returns the partitions of the solution that do not carry their workload's rate."""
    found = []
    for w, rate in enumerate(resolved.required_rps.tolist()):
        counts = {k: round(variable.value() or 0) for (other, k), variable in model.served.items() if other == w}
        if sum(count * resolved.capacity_rps[w, k] for k, count in counts.items()) < rate * (1 - TOLERANCE):
            found.append(Short(w, counts))
    return found


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
    return entry.facts.mig.placement_units if entry.facts.mig else 1


def _starts(size: PartitionSize) -> tuple[int, ...]:
    return size.mig.starts if size.mig else (0,)


def _length(resolved: ResolvedProblem, size: PartitionSize) -> int:
    return size.mig.memory_slices if size.mig else _axis(resolved.fleet_by_name[size.gpu])
