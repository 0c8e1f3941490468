"""
The plan that trades cost against moved services: the cutting stock around what runs.

Data, beside that of cutting_stock.py
    i in I         GPUs that run; P_i their partitions that may stay, of services none of whose partitions has to go
    S              a set of services on i; its partitions stay where they are
    q in Q_iS      multisets of further instances that fit beside S and leave room for no more; b_kq of size k
    T_p            throughput of running partition p at its own operating point
Variables
    x_p, n_wk      as there, for GPUs on which nothing stays, and for partitions that are new
    z_iSq in {0, 1}  GPU i keeps S and is cut further as q
    y_w in {0, 1}    service w is moved: one of its running partitions does not stay
Model
    min   sum_p c x_p + sum_iSq c_i z_iSq + m sum_w y_w                        m: price of a moved service
    s.t.  sum_Sq z_iSq <= 1                                                    for every i
          sum_{S with w, q} z_iSq + y_w >= 1                                   for every i and w on i
          sum_k T_wk n_wk + sum_iSq (sum of T_p over partitions of w in S on i) z_iSq >= R_w     for every w
          sum_w n_wk <= sum_p a_kp x_p + sum_iSq b_kq z_iSq                    for every k
          GPUs of a type are at most those available, and replicas are within their limits
          sum_w y_w <= K                                                       where at most K services may be moved

It is exact: whether a service is moved is settled by whether all its running partitions stay, so a GPU need keep only
whole sets of services; what is new beside them is cut into instances of which some maximal multiset is never worse, and
where its instances stand has been found when the multiset was listed. A partition that runs on with another
batch size or other processes has been restarted, so it counts as moved. A service that must move in any case (its
operating point breaks a limit now, or its GPU may not be used any more) costs m too. More partitions for a
service do not move it. The bound on cost of lagrangian_dual.py is added as a constraint.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from math import ceil, inf
from typing import Any

from ortools.math_opt.python import mathopt

from ...model.geometry import Layout, Multiset, Placement, PlacementRules, addable_placements, placement_rules
from ...model.stop_reason import StopReason
from ...performance.resolve import ResolvedProblem
from ..backends.highs import end_of, run_highs, solver_text
from ..cost_lattice import NO_GAP, CostLattice, lattice_of
from ..met_rates import RateRow, is_short, solved_with_rates_met
from ..mig.patterns import patterns_of
from ..proof import Ended, ended
from .running import KeptGpu, Replanning, RunningGpu, RunningPartition

FEWER_MOVES_NODES = 200
"""Branch-and-bound nodes for fewer moves at equal cost; a count and not a time, so that equal runs give equal plans."""


def solve_replanning(
    resolved: ResolvedProblem,
    running: Sequence[RunningGpu],
    moved_anyway: frozenset[int],
    *,
    move_price: float = 0.0,
    most_moves: int | None = None,
    known_bound: float | None = None,
    start: Replanning | None = None,
    time_limit_s: float,
) -> Replanning:
    """
    Solves the program with HiGHS; among equal answers it prefers fewer moved services.

    Parameters
    ----------
    running
        GPUs that run, with the partitions that may stay.
    moved_anyway
        Services that run and must be moved; they have no partition in `running`.
    move_price
        USD per hour for each moved service.
    most_moves
        Most services that may be moved, those of `moved_anyway` included; None: any number.
    known_bound
        A proven lower limit on the cost of any plan, USD per hour.
    start
        A known plan that moves no more services than it may; None: there is none. The answer is no worse.
    """
    started = time.monotonic()
    program = _ReplanningProgram(resolved, running)
    model = program.model
    moves = mathopt.LinearSum(program.moved.values())
    steps = _steps(resolved, move_price)
    cost = mathopt.LinearSum(steps.coefficient[gpu] * x for gpu, x in program.gpus)
    if known_bound is not None:
        model.add_linear_constraint(cost >= known_bound / steps.unit * (1 - NO_GAP), name="bound")
    if most_moves is not None:
        model.add_linear_constraint(moves <= most_moves - len(moved_anyway), name="most_moves")
    goal = cost + steps.coefficient.get(MOVE, 0.0) * moves
    model.minimize(goal)
    values = program.values(start) if start else None

    def solve() -> mathopt.SolveResult:
        left = time_limit_s - (time.monotonic() - started)
        return run_highs(model, left, absolute_gap=steps.absolute_gap, gap=resolved.gap, start=values)

    result = solved_with_rates_met(model, program.rates, solve)
    end, solver = end_of(result), solver_text(result)
    anyway = move_price * len(moved_anyway)
    dual = result.termination.objective_bounds.dual_bound
    bound = None if dual == -inf or end == "infeasible" else steps.dual_bound(dual)
    if not result.has_primal_feasible_solution():
        stopped: Ended = StopReason.INFEASIBLE if end == "infeasible" else StopReason.TIME_LIMIT
        lower = None if bound is None else bound + anyway
        nothing = Replanning(stopped, solver, lower, frozenset(), None, None, None)
        return nothing if start is None else replace(start, stopped=stopped, solver=solver, least=lower)
    best = result.variable_values()
    least = program.goal(best, steps)
    stopped = ended(least * steps.unit, bound, gap=resolved.gap, limited=end == "time_limit")
    if stopped == StopReason.PROVED:
        bound = least * steps.unit
        model.add_linear_constraint(goal <= steps.no_more_than(least), name="least")
        model.minimize(moves + 1e-3 * mathopt.LinearSum(program.new_partitions()))
        left = time_limit_s - (time.monotonic() - started)
        fewer = run_highs(model, left, absolute_gap=None, node_limit=FEWER_MOVES_NODES, start=best)
        if fewer.has_primal_feasible_solution():
            other = fewer.variable_values()
            holds = program.goal(other, steps) <= steps.no_more_than(least)
            best = other if holds and not any(is_short(row, other) for row in program.rates) else best
    return program.decoded(best, stopped, solver, None if bound is None else bound + anyway, moved_anyway)


MOVE = "move"
"""Key of the price of a moved service among those of GPU types."""


def _steps(resolved: ResolvedProblem, move_price: float) -> CostLattice:
    """Returns the steps in which cost and price of moves rise together."""
    price = {entry.gpu.name: entry.price_per_hour for entry in resolved.fleet}
    return lattice_of(price | {MOVE: move_price} if move_price > 0 else price)


@dataclass(frozen=True)
class _Way:
    """One way to keep some of a running GPU, as a column."""

    number: int
    kept: tuple[RunningPartition, ...]
    added: Layout
    variable: Any


class _ReplanningProgram:
    """The variables and constraints; the objective is the caller's."""

    def __init__(self, resolved: ResolvedProblem, running: Sequence[RunningGpu]) -> None:
        self.resolved, self.running = resolved, running
        self.model = model = mathopt.Model(name="replanning")
        self.patterns = [
            (pattern, model.add_integer_variable(lb=0, name=f"x_{i}_{j}"))
            for i, entry in enumerate(resolved.fleet)
            for j, pattern in enumerate(patterns_of(resolved, entry))
        ]
        self.ways = list(self._ways())
        self.moved = {
            w: model.add_binary_variable(name=f"y_{w}") for w in sorted({w for gpu in running for w in gpu.workloads})
        }
        self.served = {
            (w, k): model.add_integer_variable(lb=0, ub=self._most(w, k), name=f"n_{w}_{k}")
            for w in range(len(resolved.required_rps))
            for k in range(len(resolved.sizes))
            if resolved.capacity_rps[w, k] > 0
        }
        self.gpus = [
            *((pattern.gpu, x) for pattern, x in self.patterns),
            *((running[way.number].gpu, way.variable) for way in self.ways),
        ]
        self.rates: list[RateRow] = []
        """The rows that ask for rates, in which nothing may be missing."""
        self._a_gpu_is_kept_in_one_way()
        self._what_is_not_moved_stays()
        self._rates_are_met()
        self._partitions_are_cut_from_gpus()
        self._no_more_gpus_than_there_are()
        self._replica_limits_hold()

    def values(self, known: Replanning) -> dict[Any, float]:
        """Returns a known plan as values of the variables."""
        times = dict(known.patterns or ())
        values = {x: float(times.get(pattern, 0)) for pattern, x in self.patterns}
        values |= {n: float((known.partitions or {}).get(at, 0)) for at, n in self.served.items()}
        values |= dict.fromkeys((way.variable for way in self.ways), 0.0)
        waiting = {one.number: one.kept for one in known.kept or ()}
        for way in self.ways:
            if waiting.get(way.number) == way.kept:
                values[way.variable] = 1.0
                del waiting[way.number]
        return values | {y: float(w in known.moved) for w, y in self.moved.items()}

    def goal(self, values: Mapping[Any, float], steps: CostLattice) -> float:
        """Returns the cost of a solution's whole GPUs and moves, in the solver's unit."""
        moves = sum(round(values[moved]) for moved in self.moved.values())
        cost = sum(steps.coefficient[gpu] * round(values[x]) for gpu, x in self.gpus)
        return cost + steps.coefficient.get(MOVE, 0.0) * moves

    def new_partitions(self) -> list[Any]:
        """Returns the variables that count the partitions that are new."""
        return list(self.served.values())

    def decoded(
        self,
        values: Mapping[Any, float],
        stopped: Ended,
        solver: str,
        least: float | None,
        moved_anyway: frozenset[int],
    ) -> Replanning:
        """Returns a solution in terms of GPUs and services."""
        chosen = [way for way in self.ways if values[way.variable] > 0.5]
        staying = Counter(partition for way in chosen for partition in way.kept)
        runs = Counter(partition for gpu in self.running for partition in gpu.partitions)
        gone = {partition.workload for partition in (runs - staying)}
        return Replanning(
            stopped=stopped,
            solver=solver,
            least=least,
            moved=moved_anyway | gone,
            kept=tuple(KeptGpu(way.number, way.kept, way.added) for way in chosen),
            patterns=tuple((p, round(values[x])) for p, x in self.patterns if round(values[x])),
            partitions={at: round(values[n]) for at, n in self.served.items() if round(values[n])},
        )

    def _most(self, w: int, k: int) -> int:
        needed = ceil(float(self.resolved.required_rps[w] / self.resolved.capacity_rps[w, k]))
        return max(needed, self.resolved.problem.workloads[w].min_replicas)

    def _ways(self) -> Iterator[_Way]:
        """Yields every way to keep some services of a running GPU."""
        for i, gpu in enumerate(self.running):
            for count in range(1, len(gpu.workloads) + 1):
                for chosen in combinations(gpu.workloads, count):
                    kept = tuple(partition for partition in gpu.partitions if partition.workload in chosen)
                    for j, added in enumerate(self._added(gpu.gpu, kept)):
                        name = f"z_{i}_{'_'.join(map(str, chosen))}_{j}"
                        yield _Way(i, kept, added, self.model.add_binary_variable(name=name))

    def _added(self, gpu: str, kept: Sequence[RunningPartition]) -> tuple[Layout, ...]:
        if kept[0].start is None:
            return ((),)
        sizes = self.resolved.sizes
        usable = frozenset(sizes[k].name for k in self.resolved.sizes_of(gpu) if self.resolved.capacity_rps[:, k].any())
        present = {sizes[partition.size].name for partition in kept}
        rules = placement_rules(self.resolved.fleet_by_name[gpu].geometry, usable | present)
        standing = tuple(sorted(Placement(one.start or 0, sizes[one.size].name) for one in kept))
        return _maximal_additions(rules, standing, usable)

    def _a_gpu_is_kept_in_one_way(self) -> None:
        """A running GPU is kept in at most one way: sum_Sq z_iSq <= 1."""
        for i in range(len(self.running)):
            own = [way.variable for way in self.ways if way.number == i]
            if own:
                self.model.add_linear_constraint(mathopt.LinearSum(own) <= 1, name=f"once_{i}")

    def _what_is_not_moved_stays(self) -> None:
        """A service that is not moved stays on each of its GPUs: sum_{S with w, q} z_iSq + y_w >= 1."""
        staying: dict[tuple[int, int], list[Any]] = {}
        for way in self.ways:
            for w in {partition.workload for partition in way.kept}:
                staying.setdefault((way.number, w), []).append(way.variable)
        for (i, w), variables in staying.items():
            self.model.add_linear_constraint(mathopt.LinearSum(variables) + self.moved[w] >= 1, name=f"stays_{i}_{w}")

    def _rates_are_met(self) -> None:
        """Running and new partitions carry every rate; divided by R_w."""
        terms: list[list[Any]] = [[] for _ in self.resolved.required_rps]
        required = self.resolved.required_rps
        for (w, k), variable in self.served.items():
            terms[w].append(min(float(self.resolved.capacity_rps[w, k] / required[w]), 1e4) * variable)
        for way in self.ways:
            for w in {partition.workload for partition in way.kept}:
                capacity = sum(one.capacity_rps for one in way.kept if one.workload == w)
                terms[w].append(min(float(capacity / required[w]), 1e4) * way.variable)
        for w, of_workload in enumerate(terms):
            row = self.model.add_linear_constraint(mathopt.LinearSum(of_workload) >= 1, name=f"rate_{w}")
            self.rates.append(row)

    def _partitions_are_cut_from_gpus(self) -> None:
        """New partitions of a size are at most what GPUs have for them."""
        taken: dict[int, list[Any]] = {k: [] for k in range(len(self.resolved.sizes))}
        for (_, k), variable in self.served.items():
            taken[k].append(variable)
        for k, size in enumerate(self.resolved.sizes):
            cut = [p.profiles.count(size.name) * x for p, x in self.patterns if p.gpu == size.gpu]
            cut += [
                times * way.variable
                for way in self.ways
                if self.running[way.number].gpu == size.gpu
                and (times := sum(one.profile == size.name for one in way.added))
            ]
            self.model.add_linear_constraint(mathopt.LinearSum(taken[k]) - mathopt.LinearSum(cut) <= 0, name=f"cut_{k}")

    def _no_more_gpus_than_there_are(self) -> None:
        """GPUs of a type are at most those available."""
        for entry in self.resolved.fleet:
            if entry.available is not None:
                used = mathopt.LinearSum(x for gpu, x in self.gpus if gpu == entry.gpu.name)
                self.model.add_linear_constraint(used <= entry.available, name=f"count_{entry.gpu.name}")

    def _replica_limits_hold(self) -> None:
        """A workload has at least min_replicas and at most max_replicas partitions, running ones included."""
        for w, workload in enumerate(self.resolved.problem.workloads):
            if workload.min_replicas == 1 and workload.max_replicas is None:
                continue
            own = [variable for (other, _), variable in self.served.items() if other == w]
            own += [
                times * way.variable
                for way in self.ways
                if (times := sum(partition.workload == w for partition in way.kept))
            ]
            replicas = mathopt.LinearSum(own)
            self.model.add_linear_constraint(replicas >= workload.min_replicas, name=f"min_replicas_{w}")
            if workload.max_replicas is not None:
                self.model.add_linear_constraint(replicas <= workload.max_replicas, name=f"max_replicas_{w}")


@cache
def _maximal_additions(rules: PlacementRules, standing: Layout, usable: frozenset[str]) -> tuple[Layout, ...]:
    """
    Returns, for each multiset of usable instances that fits beside a layout and is part of no other, where they stand.

    Parameters
    ----------
    usable
        Names of the profiles that may be added; the rules know those of the layout too.
    """
    found: dict[Multiset, Layout] = {}
    stack: list[Layout] = [()]
    seen: set[Layout] = {()}
    while stack:
        added = stack.pop()
        found.setdefault(tuple(sorted(one.profile for one in added)), added)
        for one in addable_placements(rules, tuple(sorted((*standing, *added)))):
            grown = tuple(sorted((*added, one)))
            if one.profile in usable and grown not in seen:
                seen.add(grown)
                stack.append(grown)
    counts = {profiles: Counter(profiles) for profiles in found}
    return tuple(
        found[profiles]
        for profiles in sorted(found)
        if not any(other != profiles and counts[profiles] <= counts[other] for other in found)
    )
