"""
Turns of few services under MPS alone: contents of shares are columns of an integer program.

Shares are those at which models were measured alone; a GPU may be divided into any of them that add up to 100 %. The
bound is of all plans, however many services take turns on a share (exact/turns/bound.py). The program is offered sets
of up to three services. Of up to three services these are all, and its optimum is the problem's; of more, its plan may
cost more than the bound, and then the gap is said. Where neighbours slow each other by gpu-lets' linear model, the
program tells shares apart by how they press each other (pressed_shares.py), and the bound takes services as if alone;
so it does not prove the program's optimum.
"""

from collections.abc import Sequence
from functools import partial
from math import inf
from time import monotonic

import numpy as np

from ...allocation.assembly import without_plan
from ...allocation.rounds import Round, RoundsGpu, Turn, assemble_rounds
from ...exact.cost_lattice import lattice_of
from ...exact.proof import ended
from ...exact.turns.contents import Contents, all_sets, contents_of
from ...exact.turns.program import GpuType, TurnsAnswer, bound_of, solve_turns
from ...model.interference import NeighbourModel
from ...model.plan import Bound, Plan, Search, Unserved
from ...model.stop_reason import StopReason
from ...performance.fleet_types import FleetType
from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from ...performance.turns.turn_rule import TurnRule, turn_rule
from ...runtime.interruption import offer
from .of_rounds import is_beyond_all, too_few
from .pressed_shares import Pressed, greatest_pressure, levels_of, pressed_divisions, slowed_ms, slowing_models
from .turning_partitions import divisions, measured_shares, shared_percent

TOGETHER = 3
"""Services that are offered a share in turn; of no more services that is all there is."""

ALL_ROWS, SOME_ROWS, FEW_ROWS = 1 << 24, 8_000, 500
"""Combinations of batch sizes that are tried of each set: all of them, of many sets, and of sets on pressed shares."""

FOR_THE_BOUND = 0.2
"""Part of the time for the prices of the bound."""

METHOD = "linear program of services alone on measured shares, which turns cannot beat (solver/exact/turns/bound.py)"


ALL_CONTENTS = "integer program over all divisions and contents of shares (solver/exact/turns/program.py), by HiGHS"


def plan_contents(resolved: ResolvedProblem, planner: str, *, time_limit_s: float) -> Plan:
    """Returns the cheapest plan that was found, with a bound of all plans."""
    begun = monotonic()
    rate_rps, rule = resolved.required_rps, turn_rule(resolved.problem)
    alone = [_gpu_type(resolved, entry, []) for entry in resolved.fleet]
    cheapest = min(entry.price_per_hour for entry in resolved.fleet)
    bound = max(bound_of(alone, rule, rate_rps, FOR_THE_BOUND * time_limit_s), cheapest)
    offer(partial(_only_bound, resolved, planner, bound, time_limit_s))
    slowing = slowing_models(resolved)
    types = [_gpu_type(resolved, entry, slowing) for entry in resolved.fleet] if slowing else alone
    limited = [w for w, one in enumerate(resolved.problem.workloads) if one.max_replicas is not None]
    contents = _contents(types, rule, rate_rps, limited, bool(slowing))
    answer = solve_turns(
        types,
        contents,
        rate_rps,
        bound,
        time_limit_s=time_limit_s - (monotonic() - begun),
        replicas=[(one.min_replicas, one.max_replicas) for one in resolved.problem.workloads],
        gap=resolved.gap,
    )
    return _planned(resolved, planner, answer, contents, time_limit_s)


def _gpu_type(resolved: ResolvedProblem, entry: FleetType, slowing: Sequence[NeighbourModel]) -> GpuType[Pressed]:
    """Returns a GPU type, its shares told apart by how they press each other; without `slowing` each as if alone."""
    every = divisions(measured_shares(resolved, entry), shared_percent(resolved))
    workloads = resolved.problem.workloads
    tables = [resolved.tables.get((workload.model, entry.gpu.name)) for workload in workloads]
    largest = max((point.batch for one in tables if one for row in one.by_share.values() for point in row), default=1)
    levels = levels_of([one for one in tables if one], slowing)
    ways = [one for division in every for one in pressed_divisions(division, levels)]
    shares = dict.fromkeys(share for way in ways for share in way)
    latency = {share: np.full((len(workloads), largest), np.inf) for share in shares}
    for w, (workload, table) in enumerate(zip(workloads, tables, strict=True)):
        if table is None or (workload.gpus is not None and entry.gpu.name not in workload.gpus):
            continue
        for batch, percent, _ in table.points(workload.batch_sizes):
            if (point := table.at(batch, percent)) is None:
                continue
            for share in shares:
                if share.percent == percent and greatest_pressure(slowing, point) <= share.exerts:
                    latency[share][w, batch - 1] = slowed_ms(table.neighbours, point, share.bears)
    return GpuType(entry.gpu.name, entry.price_per_hour, entry.available, ways, latency)


def _contents(
    types: Sequence[GpuType[Pressed]], rule: TurnRule, rate_rps: Floats, limited: Sequence[int], is_pressed: bool
) -> dict[tuple[str, Pressed], Contents]:
    """Returns the contents that the program is offered, by GPU type and share; `limited`: who may have few replicas."""
    some = FEW_ROWS if is_pressed else SOME_ROWS
    found = {}
    for one in types:
        for share, latency_ms in one.latency_ms.items():
            every = contents_of(
                latency_ms,
                list(all_sets(range(len(rate_rps)), TOGETHER)),
                rule,
                most_rows=ALL_ROWS if len(rate_rps) <= TOGETHER and not is_pressed else some,
                rate_rps=rate_rps,
            )
            found[one.name, share] = every.at_rates(rate_rps, limited)
    return found


def _planned(
    resolved: ResolvedProblem,
    planner: str,
    answer: TurnsAnswer[Pressed],
    contents: dict[tuple[str, Pressed], Contents],
    time_limit_s: float,
) -> Plan:
    usd = {entry.gpu.name: entry.price_per_hour for entry in resolved.fleet}
    workloads = resolved.problem.workloads
    complete = len(workloads) <= TOGETHER and not slowing_models(resolved)
    proven = max(answer.bound, answer.program_bound) if complete else answer.bound
    least = lattice_of(usd).next_cost(answer.bound if proven == inf else proven)
    same_price = len(set(usd.values())) == 1
    gpus = round(least / min(usd.values())) if same_price else None
    bound = Bound(cost_per_hour=least, gpus=gpus, method=ALL_CONTENTS if complete else METHOD)
    limited = answer.end == "time_limit"
    if answer.gpus is None:
        impossible = complete and proven == inf
        return _without(resolved, planner, bound, impossible, limited, answer.solver, time_limit_s)
    stopped = ended(answer.cost, least, gap=resolved.gap, limited=limited)
    search = Search(stopped=stopped, time_limit_s=time_limit_s, solver=answer.solver)
    chosen = [
        RoundsGpu(one.gpu, tuple(_round(share.percent, contents[one.gpu, share], k) for share, k in one.contents))
        for one in answer.gpus
    ]
    return assemble_rounds(resolved, chosen, planner=planner, bound=bound, search=search)


def _only_bound(
    resolved: ResolvedProblem, planner: str, bound: float, time_limit_s: float, stopped: StopReason
) -> Plan:
    """Returns the answer of a search that is given up before it has a plan."""
    nothing: TurnsAnswer[Pressed] = TurnsAnswer(None, None, bound, bound, "time_limit", None)
    plan = _planned(resolved, planner, nothing, {}, time_limit_s)
    if plan.search.stopped is StopReason.INFEASIBLE:
        return plan
    return plan.model_copy(update={"search": plan.search.model_copy(update={"stopped": stopped})})


def _round(share: float, contents: Contents, k: int) -> Round:
    turns = tuple(Turn(int(w), int(contents.batch[k, w])) for w in np.flatnonzero(contents.batch[k]))
    return Round(share, turns, float(contents.round_ms[k]))


def _without(
    resolved: ResolvedProblem,
    planner: str,
    bound: Bound,
    impossible: bool,
    limited: bool,
    solver: str | None,
    time_limit_s: float,
) -> Plan:
    """Returns the answer without a plan: proven where the bound is beyond all GPUs that there are."""
    if impossible:
        stopped, reason = StopReason.INFEASIBLE, "no divisions and contents of the GPUs that there are serve all rates"
    elif is_beyond_all(resolved, bound.cost_per_hour or 0.0):
        stopped, reason = StopReason.INFEASIBLE, too_few(bound)
    else:
        stopped = StopReason.TIME_LIMIT if limited else StopReason.GAP_LEFT
        reason = "no plan was found with the sets of services that were tried; this proves nothing"
    search = Search(stopped=stopped, time_limit_s=time_limit_s, solver=solver)
    unserved = [Unserved(workload=one.name, reason=reason) for one in resolved.problem.workloads]
    return without_plan(resolved, unserved, planner=planner, search=search, bound=bound)
