"""
Plans where what a service's partitions carry is a function of all of them (latency_rules/server_sets.py): no sum, so
no cover of the cutting stock.

1. A relaxation: each partition counts for what no router lets it exceed (latency_rules/any_router.py, with the proof
   that in every plan these add up to the rate). It is a cutting stock, whose bound is a bound here.
2. An under-estimate: what partitions carry in weighted turns is a sum, and a service holds with any better router that
   holds so. Its plan is one here.
3. Estimates: points are chosen, and counted, by what they carry beside others of their kind. Where the plan's sets do
   not hold, their services are asked for more, and it is solved again, until all hold or it is no cheaper; services
   that fail FAILURES times count in turns.

Partitions that are kept free (mig/spare_capacity.py) are kept in each of these programs. For a lost GPU they take
partitions of its sizes, whatever those carry. Where they are kept for more rate, they and a service's own count as in
weighted turns then, so that only plans in turns are looked for.

The cheapest plan of these whose sets all hold is the answer. Bound and prices are those of the relaxation, which is not
met by all problems: what is left is said as a gap.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...allocation.allocated import CutGpu
from ...model.plan import Start
from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Floats, Ints
from ...performance.latency_rules.percentile import Percentile
from ...performance.latency_rules.server_sets import OwnKind, carried_together
from ...performance.loosest import loosest
from ...performance.operating_points import OperatingPoints
from ...performance.resolve import ResolvedProblem
from ...performance.unservable import unservable_by_sums
from ...runtime.progress import report
from ..cost_lattice import NO_GAP
from ..mig.decoding import cut_gpus
from ..mig.spare_rules import spare_rules
from ..proof import ended, is_within
from .decomposition import DecomposedAnswer, cost_of, solve_by_prices
from .spare_fleet import solve_with_spares

METHOD = (
    "bound of a relaxation (solver/exact/fleet/server_sets.py): every partition counts for what none carries more than "
    "with any router (solver/performance/latency_rules/any_router.py); no plan costs less than slice prices prove then"
)

TURNS_TIME, BOUND_TIME = 0.4, 0.4
"""Parts of the time; the plan in turns comes first, as it is one."""

ROUNDS, MOST_FOR_ROUNDS = 20, 2_000
"""Times that services are asked for more, and how many services there may be for it."""

FAILURES = 6

BEGIN = 0.93
"""Part of the rates that is asked for at first: sets mostly carry more than the sum of estimates."""

LEAST_S = 0.05
"""Of a search for the bound."""

MORE = 1e-6
"""Least part by which more is asked for."""


@dataclass(frozen=True, eq=False)
class SetAnswer:
    """The best plan whose sets hold, with the bound; `points` has what its partitions run."""

    points: ResolvedProblem
    solved: DecomposedAnswer

    @property
    def has_plan(self) -> bool:
        """Whether there is one."""
        return self.solved.answer.patterns is not None

    def gpus(self) -> list[CutGpu]:
        """Returns the GPUs of the plan; empty: there is none."""
        found = self.solved.answer
        if found.patterns is None or found.partitions is None:
            return []
        free = None if found.spares is None else found.spares.free
        return cut_gpus(self.points, found.patterns, found.partitions, free)


def solve_for_sets(
    resolved: ResolvedProblem,
    *,
    start: Start = None,
    any_plan: bool = False,
    on_answer: Callable[[SetAnswer], None] = lambda _: None,
    time_limit_s: float,
) -> SetAnswer:
    """
    Solves it as the module says; the problem's rule is that of turns.

    Parameters
    ----------
    start
        Where each search begins.
    any_plan
        Whether any plan that keeps the counts of GPUs will do, whatever it costs.
    on_answer
        Called with the bound, and with each plan before a better one.
    """
    search = _Search(resolved, start, any_plan, on_answer, time.monotonic() + time_limit_s)
    search.plan_in_turns(TURNS_TIME * time_limit_s)
    if not (any_plan and search.has_plan) and search.prove(BOUND_TIME * time_limit_s):
        search.plan_by_kind()
    return search.answer()


class _Search:
    """The best plan so far, and the bound."""

    def __init__(
        self,
        resolved: ResolvedProblem,
        start: Start,
        any_plan: bool,
        on_answer: Callable[[SetAnswer], None],
        deadline: float,
    ) -> None:
        rule = resolved.rule
        assert isinstance(rule, Percentile)
        self._resolved, self._rule, self._on_answer, self._deadline = resolved, rule, on_answer, deadline
        self._start, self._any_plan = start, any_plan
        self._spare = spare_rules(resolved.problem.settings)
        self._best: SetAnswer | None = None
        self._cost: float | None = None
        self._relaxed: DecomposedAnswer | None = None
        self._bound: float | None = None
        self._limited = False

    @property
    def has_plan(self) -> bool:
        """Whether there is a plan."""
        return self._best is not None

    def prove(self, time_limit_s: float) -> bool:
        """Finds the bound, and a plan if the relaxation's holds; returns whether there may be a plan."""
        points = loosest(self._resolved)
        self._relaxed = self._solved(points, max(min(time_limit_s, self._left_s), LEAST_S))
        self._bound = self._relaxed.answer.cost_bound
        self._limited |= self._relaxed.answer.stopped is StopReason.TIME_LIMIT
        if self._best is None and self._relaxed.answer.stopped is StopReason.INFEASIBLE:
            return False
        self._on_answer(self.answer())
        if not self._needs_turns:
            self._take(points, self._relaxed)
        return True

    def plan_in_turns(self, time_limit_s: float) -> None:
        """Plans by what partitions carry in weighted turns."""
        if unservable_by_sums(self._resolved):
            return
        solved = self._solved(self._resolved, time_limit_s, any_plan=self._any_plan)
        self._limited |= solved.answer.stopped is StopReason.TIME_LIMIT
        self._take(self._resolved, solved)

    def plan_by_kind(self) -> None:
        """Plans by what points carry beside others of their kind, time and again."""
        kind = self._resolved.with_rule(OwnKind(self._rule.shared))
        if self._needs_turns:
            return
        if not kind.capacity_rps.any(axis=1).all() or len(kind.capacity_rps) > MOST_FOR_ROUNDS:
            return
        required = self._resolved.required_rps
        asked, failures = BEGIN * required, np.zeros(required.size, dtype=np.int64)
        for attempt in range(ROUNDS):
            if self._is_done() or self._left_s < 0.1:
                return
            in_turns = np.flatnonzero((failures >= FAILURES) & self._resolved.capacity_rps.any(axis=1))
            asked[in_turns] = required[in_turns]
            points = replace(kind.with_rows_of(self._resolved, in_turns), required_rps=asked)
            if unservable_by_sums(points):  # with as many replicas as a service may have
                return
            solved = self._solved(points, self._left_s, any_plan=self._any_plan)
            cost, partitions = cost_of(points, solved.answer), solved.answer.partitions
            if cost is None or partitions is None or (self._cost is not None and cost >= self._cost * (1 - NO_GAP)):
                return
            carried = self._take(points, solved)
            short = carried < required * (1 - 1e-9)
            failures += short
            report(f"exact: sets of partitions, round {attempt + 1}: {int(short.sum())} services are short")
            if not short.any():
                return
            estimated = (points.capacity_rps * partitions).sum(axis=1)
            asked = np.where(short, estimated * (1 + MORE), asked)  # which these partitions do not give

    def answer(self) -> SetAnswer:
        """Returns the best plan so far."""
        found = self._best
        if found is None:
            assert self._relaxed is not None  # the bound is looked for before anything is said without a plan
            if self._relaxed.answer.stopped is StopReason.INFEASIBLE:
                return SetAnswer(self._resolved, self._relaxed)
            nothing = replace(self._relaxed.answer, patterns=None, partitions=None)
            found = SetAnswer(self._resolved, replace(self._relaxed, answer=nothing))
        stopped = ended(self._cost, self._bound, gap=self._resolved.gap, limited=self._limited or self._left_s <= 0)
        answer = replace(found.solved.answer, stopped=stopped, cost_bound=self._bound)
        solved = replace(found.solved, answer=answer, method=METHOD)
        if self._relaxed is not None:  # at its prices no plan costs less than the bound
            solved = replace(solved, price=self._relaxed.price, rent=self._relaxed.rent)
        return SetAnswer(found.points, solved)

    def _solved(self, points: ResolvedProblem, time_limit_s: float, *, any_plan: bool = False) -> DecomposedAnswer:
        """Solves the cutting stock in which partitions add up, with those that are kept free; without prices then."""
        if self._spare is None:
            return solve_by_prices(points, start=self._start, any_plan=any_plan, time_limit_s=time_limit_s)
        found = solve_with_spares(points, self._spare, start=self._start, any_plan=any_plan, time_limit_s=time_limit_s)
        nothing = np.zeros(len(points.sizes)), np.zeros(len(points.fleet))
        return DecomposedAnswer(found.answer, found.method, *nothing)

    @property
    def _needs_turns(self) -> bool:
        """Whether some partitions are kept free that count as in weighted turns."""
        return self._spare is not None and self._spare.services > 0

    @property
    def _left_s(self) -> float:
        return self._deadline - time.monotonic()

    def _is_done(self) -> bool:
        if self._cost is None:
            return False
        return self._any_plan or is_within(self._resolved.gap, self._cost, self._bound)

    def _take(self, points: ResolvedProblem, solved: DecomposedAnswer) -> Floats:
        """Keeps a plan whose sets hold if it is the cheapest so far; returns what they carry, shape (workload,)."""
        partitions, cost = solved.answer.partitions, cost_of(points, solved.answer)
        if partitions is None or cost is None:
            return np.zeros(self._resolved.required_rps.size)
        carried = self._carried(points, partitions)
        holds = bool((carried >= self._resolved.required_rps * (1 - 1e-9)).all())
        if holds and (self._cost is None or cost < self._cost * (1 - NO_GAP)):
            own = replace(points, required_rps=self._resolved.required_rps)
            self._best, self._cost = SetAnswer(own, solved), cost
            self._on_answer(self.answer())
        return carried

    def _carried(self, points: ResolvedProblem, partitions: Ints) -> Floats:
        """Returns what the sets of partitions carry; `partitions`: shape (workload, size)."""
        workload, size = np.nonzero(partitions)
        times = partitions[workload, size]
        workload, size = np.repeat(workload, times), np.repeat(size, times)
        of = workload, size
        run = OperatingPoints(
            points.batch[of],
            points.processes[of],
            points.latency_ms[of],
            points.throughput_rps[of],
            np.full(workload.size, np.nan),
        )
        found = carried_together(self._rule, run, workload, self._resolved.asked)
        return np.bincount(workload, found, self._resolved.required_rps.size).astype(np.float64)
