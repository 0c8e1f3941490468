"""
The MIG cutting stock: how many GPUs of each type are cut how, and which partitions serve which workload.

Data
    g in G         GPU types, with price c_g and number available N_g
    p in P_g       maximal multisets of MIG profiles that fit on a GPU of type g; a_kp instances of size k
    k in K         partition sizes (a MIG profile of a GPU type)
    w in W         workloads with required rate R_w; T_wk: greatest throughput of w on a partition of size k
                   within its latency limit
Variables, integer and not negative
    x_p            GPUs cut as multiset p
    n_wk           partitions of size k that serve workload w
Model
    min   sum_g c_g sum_{p in P_g} x_p
    s.t.  sum_k T_wk n_wk >= R_w                         for every w      (rates are met)
          sum_w n_wk <= sum_p a_kp x_p                   for every k      (partitions are cut from GPUs)
          sum_{p in P_g} x_p <= N_g                      for every g      (GPUs that there are)
          min_w <= sum_k n_wk <= max_w                   for every w      (replica limits)

A CPU is one more type to cut: its partitions are numbers of cores, its multisets those of
performance/core_divisions.py, which says which fit and that the listed ones contain them all; where they are too many
to list, domain_cuts.py counts CPUs and domains instead. Nothing else of the argument knows of MIG.

This is the reconfigurable machine scheduling problem of MIG-serving (arXiv 2109.11067) with the GPU
configurations aggregated over workloads. It is exact: only the number of instances of each size on a GPU
matters for what it can serve, every multiset that fits is part of a maximal one, and a point with less
throughput on an equal partition is never needed. The bound is the solver's dual bound of this program, rounded up to
the next cost that whole GPUs can have (cost_lattice.py). A plan is proven cheapest if it costs no more than that,
however the solver ended. What the solver takes for met and is not is excluded (met_rates.py).

Among the plans of least cost a second program looks for one that takes the fewest slices.
"""

import time
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

import numpy as np
from ortools.math_opt.python import mathopt

from ...model.hardware import Gpu
from ...model.stop_reason import StopReason
from ...performance.fleet_types import PartitionSize
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ..backends.highs import TIE_BREAK_NODES, end_of, run_highs, solver_text
from ..cost_lattice import NO_GAP, CostLattice, cost_lattice
from ..met_rates import RateRow, is_short, solved_with_rates_met
from ..mps.program import NO_SHARES, MpsAnswer, MpsPart, PartBuilder
from ..proof import Ended, ended, is_proof
from .domain_cuts import DomainCuts
from .patterns import Pattern, patterns_of, used_cores
from .spare_capacity import SpareVariables
from .spare_rules import KeptFree, SpareRules


@dataclass(frozen=True)
class CuttingStockAnswer:
    """What the integer program gave; `partitions` and `patterns` are None where it gave no plan."""

    stopped: Ended
    solver: str
    cost_bound: float | None
    """Lower limit on the cost per hour, USD; None: unknown."""
    patterns: tuple[tuple[Pattern, int], ...] | None
    """How many GPUs are cut in each way."""
    partitions: Ints | None
    """Shape (workload, size): partitions of each size for each workload."""
    shared: MpsAnswer
    """GPUs under MPS."""
    spares: KeptFree | None = None
    """Partitions that are kept free; None: none are asked for."""


def solve_cutting_stock(
    resolved: ResolvedProblem,
    *,
    time_limit_s: float,
    counts: bool = True,
    shared: PartBuilder | None = None,
    fewest_slices: bool = True,
    known_bound: float | None = None,
    known_plan: "CuttingStockAnswer | None" = None,
    spare: SpareRules | None = None,
    gap: float = 0.0,
) -> CuttingStockAnswer:
    """
    Solves the MIG cutting stock with HiGHS.

    Parameters
    ----------
    counts
        False: ignore how many GPUs there are, to learn how many would do.
    shared
        Adds GPUs under MPS; None: there are none.
    fewest_slices
        Whether to look for a plan of the same cost that takes fewer slices.
    known_bound
        A proven lower bound on the cost, USD per hour, which helps the search.
    known_plan
        A plan to start from.
    spare
        What partitions are kept free for (spare_capacity.py); None: nothing.
    gap
        To the bound, with which the search may end.
    """
    started = time.monotonic()
    program = CuttingStockProgram(resolved, counts, shared=shared, spare=spare)
    steps = cost_lattice(resolved)
    cost = mathopt.LinearSum(steps.coefficient[gpu] * x for gpu, x in program.gpus)
    program.model.minimize(cost)
    if known_bound is not None:
        program.model.add_linear_constraint(cost >= known_bound / steps.unit * (1 - NO_GAP), name="bound")
    start = None if known_plan is None else program.values(known_plan)

    def solve() -> mathopt.SolveResult:
        left = time_limit_s - (time.monotonic() - started)
        return run_highs(program.model, left, absolute_gap=steps.absolute_gap, gap=gap, start=start)

    result = solved_with_rates_met(program.model, program.rates, solve)
    end, solver = end_of(result), solver_text(result)
    if end == "infeasible":
        return CuttingStockAnswer(StopReason.INFEASIBLE, solver, None, None, None, NO_SHARES)
    dual = result.termination.objective_bounds.dual_bound
    bound = None if dual == -inf else steps.dual_bound(dual)
    if not result.has_primal_feasible_solution():
        return CuttingStockAnswer(StopReason.TIME_LIMIT, solver, bound, None, None, NO_SHARES)
    best = result.variable_values()
    found = program.cost(best, steps) * steps.unit
    if is_proof(found, bound):
        bound = found
        left = time_limit_s - (time.monotonic() - started)
        best = (_with_fewest_slices(resolved, program, cost, steps, best, left) if fewest_slices else None) or best
    return CuttingStockAnswer(
        ended(found, bound, gap=gap, limited=end == "time_limit"),
        solver,
        bound,
        program.cut(best),
        program.partitions(best),
        program.shared.decode(best),
        program.spares(best),
    )


class CuttingStockProgram:
    """
    The variables and constraints; the objective is the caller's.

    all_served
        False: a workload may be left out; `is_served` holds a binary for each.
    most
        Shape (workload, size): how many partitions of each size a workload has at most in some best plan; None: as many
        as its rate and its least replicas take.
    """

    def __init__(
        self,
        resolved: ResolvedProblem,
        counts: bool,
        all_served: bool = True,
        shared: PartBuilder | None = None,
        spare: SpareRules | None = None,
        most: Floats | None = None,
    ) -> None:
        self.resolved = resolved
        self.model = model = mathopt.Model(name="mig_cutting_stock")
        self.patterns: list[tuple[Pattern, Any]] = []
        self._domains: dict[str, DomainCuts] = {}
        """Of CPU types with too many divisions to list."""
        for i, entry in enumerate(resolved.fleet):
            cores = used_cores(resolved, entry)
            parts = entry.parts(cores) if cores else None
            if parts is not None:
                self._domains[entry.gpu.name] = DomainCuts(model, entry, *parts, name=str(i))
                continue
            cuts = patterns_of(resolved, entry, every=spare is not None and spare.gpu_loss)
            self.patterns += [
                (pattern, model.add_integer_variable(lb=0, name=f"x_{i}_{j}")) for j, pattern in enumerate(cuts)
            ]
        self.is_served: list[Any] = [
            1 if all_served else model.add_binary_variable(name=f"s_{w}") for w in range(len(resolved.required_rps))
        ]
        self.shared = shared(model, self.is_served) if shared else MpsPart()
        of_domains = [used for domains in self._domains.values() for used in domains.gpus]
        self.gpus = [*((pattern.gpu, x) for pattern, x in self.patterns), *of_domains, *self.shared.gpus]
        self.served = self._served_variables(most)
        self.rates: list[RateRow] = []
        """The rows that ask for rates, in which nothing may be missing."""
        self.kept_free = None if spare is None else self._kept_free(spare)
        self._rates_are_met()
        self._partitions_are_cut_from_gpus()
        if counts:
            self._no_more_gpus_than_there_are()
        self._replica_limits_hold()

    def cost(self, values: dict[Any, float], steps: CostLattice) -> float:
        """Returns the cost of a solution's whole GPUs, in the solver's unit."""
        return sum(steps.coefficient[gpu] * round(values[x]) for gpu, x in self.gpus)

    def cut(self, values: dict[Any, float]) -> tuple[tuple[Pattern, int], ...]:
        """Returns how many GPUs are cut in each way, from a solution."""
        listed = [(pattern, round(values[x])) for pattern, x in self.patterns if round(values[x])]
        return (*listed, *(one for domains in self._domains.values() for one in domains.patterns(values)))

    def partitions(self, values: dict[Any, float]) -> Ints:
        """Returns n, shape (workload, size), from a solution."""
        partitions = np.zeros(self.resolved.capacity_rps.shape, dtype=np.int64)
        for (w, k), variable in self.served.items():
            partitions[w, k] = round(values[variable])
        return partitions

    def spares(self, values: dict[Any, float]) -> KeptFree | None:
        """Returns the partitions that are kept free, from a solution; None: there are none."""
        return None if self.kept_free is None else self.kept_free.decode(values)

    def _kept_free(self, spare: SpareRules) -> SpareVariables:
        cuts = [
            ([pattern.profiles.count(size.name) * (pattern.gpu == size.gpu) for size in self.resolved.sizes], x)
            for pattern, x in self.patterns
        ]
        kept_free = SpareVariables(self.model, self.resolved, spare, self.served, cuts, self.is_served)
        self.rates += kept_free.rates
        return kept_free

    def values(self, answer: CuttingStockAnswer) -> dict[Any, float] | None:
        """Returns a plan without GPUs under MPS as values of the variables; None: it is no plan."""
        if answer.patterns is None or answer.partitions is None:
            return None
        times = dict(answer.patterns)
        values = {x: float(times.get(pattern, 0)) for pattern, x in self.patterns}
        for domains in self._domains.values():
            cut = domains.values(answer.patterns)
            if cut is None:
                return None
            values |= cut
        values |= {variable: float(answer.partitions[at]) for at, variable in self.served.items()}
        if self.kept_free is not None and answer.spares is not None:
            values |= dict(self.kept_free.values(answer.spares, values))
        return values

    def _served_variables(self, most: Floats | None) -> dict[tuple[int, int], Any]:
        capacity, required = self.resolved.capacity_rps, self.resolved.required_rps
        least = [workload.min_replicas for workload in self.resolved.problem.workloads]

        def greatest(w: int, k: int) -> float:
            return max(ceil(required[w] / capacity[w, k]), least[w]) if most is None else float(most[w, k])

        return {
            (w, k): self.model.add_integer_variable(lb=0, ub=greatest(w, k), name=f"n_{w}_{k}")
            for w, k in np.argwhere(capacity > 0).tolist()
        }

    def _rates_are_met(self) -> None:
        """Every served workload's partitions carry its rate: sum_k T_wk n_wk >= R_w, divided by R_w."""
        capacity, required = self.resolved.capacity_rps, self.resolved.required_rps
        terms: dict[int, list[Any]] = {w: [] for w in range(len(required))}
        for (w, k), variable in self.served.items():
            terms[w].append(min(capacity[w, k] / required[w], 1e4) * variable)
        for w, of_workload in terms.items():
            if w in self.shared.settled:
                continue
            of_workload += self.shared.carried.get(w, [])
            carried = mathopt.LinearSum(of_workload)
            self.rates.append(self.model.add_linear_constraint(carried - self.is_served[w] >= 0, name=f"rate_{w}"))

    def _partitions_are_cut_from_gpus(self) -> None:
        """Partitions of a size, free ones too, are at most what GPUs have: sum_w n_wk + F_k <= sum_p a_kp x_p."""
        taken: dict[int, list[Any]] = {k: [] for k in range(len(self.resolved.sizes))}
        for (_, k), variable in self.served.items():
            taken[k].append(variable)
        for k, variable in self.kept_free.free.items() if self.kept_free else ():
            taken[k].append(variable)
        for k, size in enumerate(self.resolved.sizes):
            cut = [p.profiles.count(size.name) * x for p, x in self.patterns if p.gpu == size.gpu]
            if size.gpu in self._domains and size.cores is not None:
                cut += self._domains[size.gpu].partitions(size.cores)
            self.model.add_linear_constraint(mathopt.LinearSum(taken[k]) - mathopt.LinearSum(cut) <= 0, name=f"cut_{k}")

    def _no_more_gpus_than_there_are(self) -> None:
        """GPUs of a type are at most those available: sum_p x_p <= N_g."""
        for entry in self.resolved.fleet:
            if entry.available is not None:
                used = mathopt.LinearSum(x for gpu, x in self.gpus if gpu == entry.gpu.name)
                self.model.add_linear_constraint(used <= entry.available, name=f"count_{entry.gpu.name}")

    def _replica_limits_hold(self) -> None:
        """A workload has at least min_replicas and at most max_replicas partitions."""
        residents = self.shared.replicas
        if residents is None:
            return
        for w, workload in enumerate(self.resolved.problem.workloads):
            if w in self.shared.settled or (workload.min_replicas == 1 and workload.max_replicas is None):
                continue
            own = [variable for (other, _), variable in self.served.items() if other == w]
            replicas = mathopt.LinearSum([*own, *residents.get(w, [])])
            least = workload.min_replicas * self.is_served[w]
            self.model.add_linear_constraint(replicas - least >= 0, name=f"min_replicas_{w}")
            if workload.max_replicas is not None:
                self.model.add_linear_constraint(replicas <= workload.max_replicas, name=f"max_replicas_{w}")


def _with_fewest_slices(
    resolved: ResolvedProblem,
    program: CuttingStockProgram,
    cost: Any,
    steps: CostLattice,
    best: dict[Any, float],
    time_limit_s: float,
) -> dict[Any, float] | None:
    """Returns a solution of no greater cost that takes fewer slices, None if none was found."""
    if time_limit_s <= 0:
        return None
    least = program.cost(best, steps)
    slices: Floats = np.array([slices_of(resolved, size) for size in resolved.sizes], float)
    program.model.add_linear_constraint(cost <= steps.no_more_than(least), name="least_cost")
    taken = [float(slices[k]) * variable for (_, k), variable in program.served.items()]
    kept_free = program.kept_free.free if program.kept_free else {}
    taken += [float(slices[k]) * variable for k, variable in kept_free.items()]
    program.model.minimize(mathopt.LinearSum([*taken, *program.shared.slices]))
    result = run_highs(
        program.model, time_limit_s, absolute_gap=0.999 if taken else 0.05, node_limit=TIE_BREAK_NODES, start=best
    )
    if not result.has_primal_feasible_solution():
        return None
    fewer = result.variable_values()
    holds = program.cost(fewer, steps) <= steps.no_more_than(least)
    return fewer if holds and not any(is_short(row, fewer) for row in program.rates) else None


def slices_of(resolved: ResolvedProblem, size: PartitionSize) -> int:
    """Returns the compute and memory slices that a partition takes, or its cores; a GPU without MIG counts as one."""
    if size.mig is not None:
        return size.mig.compute_slices + size.mig.memory_slices
    if size.cores is not None:
        return size.cores
    facts = resolved.fleet_by_name[size.gpu].gpu
    geometry = facts.mig if isinstance(facts, Gpu) else None
    return geometry.compute_slices + geometry.placement_units if geometry else 1
