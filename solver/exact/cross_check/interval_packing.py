"""
The MIG cutting stock once more, modelled without layouts (interval_program.py) and solved by CBC: a check of `exact`.

What CBC's word is worth. It drops what is not better by 1e-5 or more than its best solution, and takes 1e-7 for nothing
in the duals and rows of its linear programs and 1e-6 in its integers. So it is asked what these cannot blur:

- whether one of some fleets carries the workloads, in GPUs that are missing (`_within`): 0, or at least 1;
- what is cheapest, in steps of the prices, if no GPU costs more than EXACT_STEPS of them: costs differ by at least 1,
  and the error of a bound, 1e-7 for each of the partitions, is far below half of that;
- else in coarser units, rounded down, which gives a lower limit on the cost of every plan, less one unit for CBC's
  errors. The fleets between that limit and the plan (cheaper_fleets.py) are then asked for as above: none, and the
  plan is proven to be cheapest; else it gives way to the cheaper one.

What CBC takes for a met rate may be short of it. Its programs so have all solutions and a few more, and what it proves
of them holds; partitions that are short are excluded one by one until its solution serves. Nothing is claimed where
the decoded plan does not cost what CBC says that it costs.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from pathlib import Path

import pulp
from pulp.apis.coin_api import pulp_cbc_path  # the CBC that PuLP brings; a system's own may be another version

from ...allocation.allocated import CutGpu
from ...model.stop_reason import StopReason
from ...performance.resolve import ResolvedProblem
from ...runtime.deadline import at_most_left
from .cheaper_fleets import cheaper_fleets, in_steps
from .interval_program import IntervalProgram, Most, Short, decoded, interval_program, short_of_rate

EXACT_STEPS = 10_000
"""Steps of the dearest GPU up to which costs are stated in steps."""

COARSE_UNITS = 1_000_000
"""Units of the dearest GPU where its price has more steps."""


@dataclass(frozen=True)
class IntervalPacking:
    """What CBC gave."""

    stopped: StopReason
    """gap_left: what is cheapest in CBC's units is known, but too many fleets lie between that and the plan."""
    solver: str
    gpus: list[CutGpu] | None = None
    """None: no plan was found."""
    cost_bound: float | None = None
    """Lower limit on the cost per hour, USD; None: unknown."""


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


def solve_interval_packing(resolved: ResolvedProblem, *, time_limit_s: float) -> IntervalPacking:
    """
    Solves the interval formulation with CBC; the problem must have no `coupled_sizes`.

    Whether the available GPUs are enough is asked first, as a program that always has a solution: CBC
    reports a proven infeasibility of the integers in the same words as a search that was stopped. Every workload must
    be served by some number of partitions that it may have, however many GPUs that takes.
    """
    cbc = _Cbc(resolved, time.monotonic() + time_limit_s)
    available = [entry.available for entry in resolved.fleet]
    if any(count is not None for count in available):
        status, gpus = _within(cbc, [available])
        if status != pulp.LpSolutionOptimal:
            return IntervalPacking(StopReason.TIME_LIMIT, _solver_text(status))
        if gpus is None:
            return IntervalPacking(StopReason.INFEASIBLE, "CBC through PuLP: GPUs are missing, proven")
    prices = _prices(resolved)
    units = {entry.gpu.name: price for entry, price in zip(resolved.fleet, prices.units, strict=True)}

    def cheapest(model: IntervalProgram) -> None:
        for variable in model.missing:
            variable.upBound = 0
        model.program.setObjective(pulp.lpSum(units[gpu] * count for gpu, count in model.gpus.items()))

    status, model = cbc.solved([available], cheapest)
    if status not in WITH_SOLUTION:
        return IntervalPacking(StopReason.TIME_LIMIT, _solver_text(status))
    gpus = decoded(resolved, model)
    least = sum(units[one.gpu] for one in gpus)
    if status != pulp.LpSolutionOptimal:
        return IntervalPacking(StopReason.TIME_LIMIT, _solver_text(status), gpus)
    if abs(least - pulp.value(model.program.objective)) > 0.5:
        return IntervalPacking(StopReason.GAP_LEFT, "CBC through PuLP: its solution does not cost what it says", gpus)
    return _settled(cbc, prices, (least - prices.unsure) * prices.unit, gpus)


@dataclass(frozen=True)
class _Cbc:
    """CBC for the programs of one problem, and what its solutions turned out to be short of."""

    resolved: ResolvedProblem
    deadline: float
    """As time.monotonic() has it."""
    short: list[Short] = field(default_factory=list)

    def solved(self, fleets: Sequence[Most], prepare: Callable[[IntervalProgram], None]) -> tuple[int, IntervalProgram]:
        """
        Returns PuLP's solution status, and the program with a solution that serves or in which GPUs are missing.

        `prepare` gives a program its objective.
        """
        while True:
            model = interval_program(self.resolved, fleets, self.short)
            prepare(model)
            status = _run_cbc(model.program, self.deadline - time.monotonic())
            if status not in WITH_SOLUTION or any((variable.value() or 0) > 0.5 for variable in model.missing):
                return status, model
            short = short_of_rate(self.resolved, model)
            if not short:
                return status, model
            self.short.extend(short)


def _prices(resolved: ResolvedProblem) -> _Prices:
    steps, step = in_steps([entry.price_per_hour for entry in resolved.fleet])
    return _Prices(steps, step, 1 if max(steps) <= EXACT_STEPS else ceil(max(steps) / COARSE_UNITS))


def _settled(cbc: _Cbc, prices: _Prices, least: int, gpus: list[CutGpu]) -> IntervalPacking:
    """
    Returns the cheapest plan, or the cheapest found with the limit `least`, in steps, on the cost of every plan.

    Each round rules out the fleets that are cheaper than the plan, or finds a cheaper plan.
    """
    fleet = cbc.resolved.fleet
    price = {entry.gpu.name: price for entry, price in zip(fleet, prices.steps, strict=True)}
    available = [entry.available for entry in fleet]
    solver = _solver_text(pulp.LpSolutionOptimal)
    bound = float(least * prices.step)
    while (cost := sum(price[one.gpu] for one in gpus)) > least:
        fleets = cheaper_fleets(prices.steps, available, least=least, below=cost)
        if fleets is None:
            return IntervalPacking(StopReason.GAP_LEFT, solver, gpus, bound)
        if not fleets:
            break
        status, cheaper = _within(cbc, fleets)
        if status != pulp.LpSolutionOptimal:
            return IntervalPacking(StopReason.TIME_LIMIT, _solver_text(status), gpus, bound)
        if cheaper is None:
            break
        gpus = cheaper
    return IntervalPacking(StopReason.PROVED, solver, gpus, float(cost * prices.step))


def _within(cbc: _Cbc, fleets: Sequence[Most]) -> tuple[int, list[CutGpu] | None]:
    """Returns PuLP's solution status, and GPUs of one of the fleets that carry the workloads; None: there are none."""
    status, model = cbc.solved(fleets, lambda model: model.program.setObjective(pulp.lpSum(model.missing)))
    enough = status == pulp.LpSolutionOptimal and pulp.value(model.program.objective) < 0.5
    return status, decoded(cbc.resolved, model) if enough else None


WITH_SOLUTION = (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)

GIVEN_UP_S = 0.5
"""Within which a search ends that was interrupted (runtime/interruption.py)."""

ENDS = (*WITH_SOLUTION, pulp.LpSolutionNoSolutionFound, pulp.LpSolutionInfeasible)
"""How CBC may end; the last also means that it was stopped (`solve_interval_packing`)."""


def _run_cbc(program: pulp.LpProblem, time_limit_s: float) -> int:
    """Returns PuLP's solution status; RuntimeError: one that none of these programs can have."""
    path = str(Path(pulp_cbc_path).resolve())
    try:
        program.solve(pulp.COIN_CMD(path=path, msg=False, timeLimit=at_most_left(time_limit_s), gapRel=0.0))
    except pulp.PulpSolverError:
        # Ctrl-C reaches CBC too, which then may fail. Whoever interrupts gives this search up meanwhile.
        time.sleep(GIVEN_UP_S)
        raise
    status = int(program.sol_status)
    if status not in ENDS:
        raise RuntimeError(f"CBC ended with {pulp.LpSolution.get(status, status)}")
    return status


def _solver_text(status: int) -> str:
    return f"CBC through PuLP: {pulp.LpSolution[status].lower()}"
