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

What CBC's word is worth. It drops what is not better by 1e-5 or more than its best solution, and takes 1e-7 for nothing
in the duals and rows of its linear programs and 1e-6 in its integers. So it is asked what these cannot blur:

- whether one of some fleets carries the workloads, in GPUs that are missing (`_within`): 0, or at least 1;
- what is cheapest, in steps of the prices, if no GPU costs more than EXACT_STEPS of them: costs differ by at least 1,
  and the error of a bound, 1e-7 for each of the partitions, is far below half of that;
- else in coarser units, rounded down, which gives a lower limit on the cost of every plan, less one unit for CBC's
  errors. The fleets between that limit and the plan (cheaper_fleets.py) are then asked for as above: none, and the
  plan is proven to be cheapest; else it gives way to the cheaper one.

Nothing is claimed where the decoded plan does not cost what CBC says that it costs.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Literal

import pulp
from pulp.apis.coin_api import pulp_cbc_path  # the CBC that PuLP brings; a system's own may be another version

from ..deadline import at_most_left
from ..decided import CutGpu, Segment
from ..performance.resolve import FleetType, PartitionSize, ResolvedProblem
from .cheaper_fleets import cheaper_fleets, in_steps

EXACT_STEPS = 10_000
"""Steps of the dearest GPU up to which costs are stated in steps."""

COARSE_UNITS = 1_000_000
"""Units of the dearest GPU where its price has more steps."""

Ended = Literal["proved", "time_limit", "infeasible", "gap_left"]


@dataclass(frozen=True)
class IntervalPacking:
    """What CBC gave."""

    stopped: Ended
    """gap_left: what is cheapest in CBC's units is known, but too many fleets lie between that and the plan."""
    solver: str
    gpus: list[CutGpu] | None = None
    """None: no plan was found."""
    cost_bound: float | None = None
    """Lower limit on the cost per hour, USD; None: unknown."""


@dataclass(frozen=True)
class _Program:
    """The integer program without an objective."""

    program: pulp.LpProblem
    gpus: dict[str, pulp.LpVariable]
    missing: list[pulp.LpVariable]
    """GPUs beyond those of the fleet, by type that is limited."""
    instances: dict[tuple[int, int], pulp.LpVariable]
    served: dict[tuple[int, int], pulp.LpVariable]


@dataclass(frozen=True)
class _Prices:
    """The prices of a fleet in whole numbers, and how CBC has them."""

    steps: Sequence[int]
    """By GPU type of the fleet."""
    step: Fraction
    """USD per hour."""
    unit: int
    """Steps of a unit that CBC counts costs in."""

    @property
    def units(self) -> list[int]:
        return [price // self.unit for price in self.steps]

    @property
    def unsure(self) -> int:
        """Units by which CBC's proof may be wrong."""
        return 0 if self.unit == 1 else 1


Most = Sequence[int | None]
"""The most GPUs of each type; None: as many as needed."""


def coupled_sizes(resolved: ResolvedProblem) -> list[str]:
    """Returns the partition sizes with engine limits, for which disjoint placements are not enough."""
    return [str(size) for size in resolved.sizes if size.mig is not None and size.mig.kind == "variant"]


def solve_interval_packing(resolved: ResolvedProblem, *, time_limit_s: float) -> IntervalPacking:
    """
    Solves the interval formulation with CBC; the problem must have no `coupled_sizes`.

    Whether the available GPUs are enough is asked first, as a program that always has a solution: CBC
    reports a proven infeasibility of the integers in the same words as a search that was stopped. Every workload must
    be served by some number of partitions that it may have, however many GPUs that takes.
    """
    deadline = time.monotonic() + time_limit_s
    available = [entry.available for entry in resolved.fleet]
    if any(count is not None for count in available):
        status, gpus = _within(resolved, [available], deadline)
        if status != pulp.LpSolutionOptimal:
            return IntervalPacking("time_limit", _solver_text(status))
        if gpus is None:
            return IntervalPacking("infeasible", "CBC through PuLP: GPUs are missing, proven")
    prices = _prices(resolved)
    model = _program(resolved, [available])
    for variable in model.missing:
        variable.upBound = 0
    units = dict(zip(model.gpus, prices.units, strict=True))
    model.program.setObjective(pulp.lpSum(units[gpu] * count for gpu, count in model.gpus.items()))
    status = _run_cbc(model.program, deadline - time.monotonic())
    if status not in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
        return IntervalPacking("time_limit", _solver_text(status))
    gpus = _decoded(resolved, model)
    least = sum(units[one.gpu] for one in gpus)
    if status != pulp.LpSolutionOptimal:
        return IntervalPacking("time_limit", _solver_text(status), gpus)
    if abs(least - pulp.value(model.program.objective)) > 0.5:
        return IntervalPacking("gap_left", "CBC through PuLP: its solution does not cost what it says", gpus)
    return _settled(resolved, prices, (least - prices.unsure) * prices.unit, gpus, deadline)


def _prices(resolved: ResolvedProblem) -> _Prices:
    steps, step = in_steps([entry.price_per_hour for entry in resolved.fleet])
    return _Prices(steps, step, 1 if max(steps) <= EXACT_STEPS else ceil(max(steps) / COARSE_UNITS))


def _settled(
    resolved: ResolvedProblem, prices: _Prices, least: int, gpus: list[CutGpu], deadline: float
) -> IntervalPacking:
    """
    Returns the cheapest plan, or the cheapest found with the limit `least`, in steps, on the cost of every plan.

    Each round rules out the fleets that are cheaper than the plan, or finds a cheaper plan.
    """
    price = dict(zip((entry.gpu.name for entry in resolved.fleet), prices.steps, strict=True))
    available = [entry.available for entry in resolved.fleet]
    solver = _solver_text(pulp.LpSolutionOptimal)
    bound = float(least * prices.step)
    while (cost := sum(price[one.gpu] for one in gpus)) > least:
        fleets = cheaper_fleets(prices.steps, available, least=least, below=cost)
        if fleets is None:
            return IntervalPacking("gap_left", solver, gpus, bound)
        if not fleets:
            break
        status, cheaper = _within(resolved, fleets, deadline)
        if status != pulp.LpSolutionOptimal:
            return IntervalPacking("time_limit", _solver_text(status), gpus, bound)
        if cheaper is None:
            break
        gpus = cheaper
    return IntervalPacking("proved", solver, gpus, float(cost * prices.step))


def _within(resolved: ResolvedProblem, fleets: Sequence[Most], deadline: float) -> tuple[int, list[CutGpu] | None]:
    """Returns PuLP's solution status, and GPUs of one of the fleets that carry the workloads; None: there are none."""
    model = _program(resolved, fleets)
    model.program.setObjective(pulp.lpSum(model.missing))
    status = _run_cbc(model.program, deadline - time.monotonic())
    enough = status == pulp.LpSolutionOptimal and pulp.value(model.program.objective) < 0.5
    return status, _decoded(resolved, model) if enough else None


def _decoded(resolved: ResolvedProblem, model: _Program) -> list[CutGpu]:
    """Returns the GPUs of CBC's solution."""
    counts = {key: round(variable.value() or 0) for key, variable in model.served.items()}
    placed = {key: round(variable.value() or 0) for key, variable in model.instances.items()}
    return _coloured(resolved, counts, placed)


def _program(resolved: ResolvedProblem, fleets: Sequence[Most]) -> _Program:
    """Returns the program for GPUs of one of the fleets, and those that are missing there."""
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
    for k, size in enumerate(sizes):
        taken = pulp.lpSum(variable for (_, other), variable in served.items() if other == k)
        program += taken == pulp.lpSum(instances[k, start] for start in _starts(size))
    return _Program(program, gpus, missing, instances, served)


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
        program += pulp.lpSum(min(capacity[k] / rate, 1e4) * served[w, k] for k in usable) >= 1
        replicas = pulp.lpSum(served[w, k] for k in usable)
        if workload.min_replicas > 1:
            program += replicas >= workload.min_replicas
        if workload.max_replicas is not None:
            program += replicas <= workload.max_replicas
    return served


ENDS = (
    pulp.LpSolutionOptimal,
    pulp.LpSolutionIntegerFeasible,
    pulp.LpSolutionNoSolutionFound,
    pulp.LpSolutionInfeasible,
)
"""How CBC may end; the last also means that it was stopped (`solve_interval_packing`)."""


def _run_cbc(program: pulp.LpProblem, time_limit_s: float) -> int:
    """Returns PuLP's solution status; RuntimeError: one that none of these programs can have."""
    path = str(Path(pulp_cbc_path).resolve())
    program.solve(pulp.COIN_CMD(path=path, msg=False, timeLimit=at_most_left(time_limit_s), gapRel=0.0))
    status = int(program.sol_status)
    if status not in ENDS:
        raise RuntimeError(f"CBC ended with {pulp.LpSolution.get(status, status)}")
    return status


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
