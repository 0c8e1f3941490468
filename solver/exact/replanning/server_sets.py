"""
Replanning where what a service's partitions carry is a function of all of them (latency_rules/server_sets.py).

What a kept partition is promised depends on which others are kept and which are new, so it is no figure of its own.
Every solution of replanning.py is judged by its sets, those that stay and those that are new together, each partition
at the operating point that it runs. Solutions are looked for as in fleet/server_sets.py:

1. An under-estimate: partitions, kept and new, count for what they carry in weighted turns. A plan of that holds.
2. A relaxation: each counts for what none exceeds with any router. In every plan that holds, the partitions of a
   service, kept and new, are a set that holds; by latency_rules/any_router.py, whose claim is of any set at any
   operating points, they add up to its rate. So the plan is a solution here, of the same cost, with the same services
   moved. Nothing is below the least total here, and if so few moves have no solution here, no plan moves so few.
3. Estimates: partitions count for what they carry beside others of their kind. Services whose sets do not hold are
   asked for more, and it is solved again, until all hold or nothing better is left.

What may stay is the same in all of them: partitions on which the relaxation allows some rate, as in no plan others
may. The best solution whose sets all hold is the answer; the least total is the relaxation's.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Floats
from ...performance.latency_rules.percentile import Percentile
from ...performance.latency_rules.server_sets import OwnKind, carried_together
from ...performance.loosest import loosest
from ...performance.resolve import ResolvedProblem
from ...runtime.progress import report
from ..cost_lattice import NO_GAP
from ..fleet.server_sets import BEGIN, FAILURES, MORE, ROUNDS
from ..proof import ended, is_within
from .kept_plans import total_per_hour
from .replanning import solve_replanning
from .running import Replanning, RunningGpu, RunningPartition, run_by

TURNS_TIME, LIMIT_TIME = 0.4, 0.4
"""Parts of the time for the plan in turns and for the least total."""

ENOUGH = 1 - 1e-9
"""Part of a rate that a set is to carry."""


@dataclass(frozen=True, eq=False)
class SetReplanning:
    """A plan around what runs, and the operating points that its new partitions run."""

    points: ResolvedProblem
    answer: Replanning

    @property
    def has_plan(self) -> bool:
        """Whether there is a plan."""
        return self.answer.kept is not None


def replan_for_sets(
    resolved: ResolvedProblem,
    running: Sequence[RunningGpu],
    moved_anyway: frozenset[int],
    *,
    move_price: float,
    most_moves: int | None,
    known_bound: float | None,
    start: SetReplanning | None,
    on_answer: Callable[[SetReplanning], None] = lambda _: None,
    time_limit_s: float,
) -> SetReplanning:
    """
    Solves it as the module says; arguments as for `solve_replanning`, and the problem's rule is that of turns.

    Parameters
    ----------
    start
        A known plan whose sets hold.
    on_answer
        Called with each plan before a better one.
    """
    search = _Search(resolved, running, moved_anyway, move_price, most_moves, known_bound, on_answer, time_limit_s)
    if start is not None:
        search.take(start.points, start.answer)
    search.plan_in_turns(start)
    if search.find_least():
        search.plan_by_kind()
    return search.answer()


def counted(points: ResolvedProblem, running: Sequence[RunningGpu]) -> tuple[RunningGpu, ...]:
    """Returns what runs with what each partition counts for under a problem's rule."""
    partitions = [one for gpu in running for one in gpu.partitions]
    workload = np.array([one.workload for one in partitions], dtype=np.int64)
    found = iter(points.rule.greatest_rps(run_by(partitions), points.asked.of(workload)).tolist())
    return tuple(
        replace(gpu, partitions=tuple(replace(one, capacity_rps=next(found)) for one in gpu.partitions))
        for gpu in running
    )


def carried_by_sets(resolved: ResolvedProblem, points: ResolvedProblem, answer: Replanning) -> Floats:
    """
    Returns what the partitions of each service carry together, those that stay and those that are new; (workload,).

    Parameters
    ----------
    resolved
        The problem with the rule of turns.
    points
        The same with the operating points that new partitions run.
    """
    rule = resolved.rule
    assert isinstance(rule, Percentile)
    new = [
        RunningPartition(
            w,
            k,
            None,
            int(points.batch[w, k]),
            int(points.processes[w, k]),
            float(points.latency_ms[w, k]),
            float(points.throughput_rps[w, k]),
            0.0,
        )
        for (w, k), times in (answer.partitions or {}).items()
        for _ in range(times)
    ]
    partitions = [*(one for gpu in answer.kept or () for one in gpu.kept), *new]
    workload = np.array([one.workload for one in partitions], dtype=np.int64)
    found = carried_together(rule, run_by(partitions), workload, resolved.asked)
    return np.bincount(workload, found, resolved.required_rps.size).astype(np.float64)


class _Search:
    """The best plan so far, and the least total."""

    def __init__(
        self,
        resolved: ResolvedProblem,
        running: Sequence[RunningGpu],
        moved_anyway: frozenset[int],
        move_price: float,
        most_moves: int | None,
        known_bound: float | None,
        on_answer: Callable[[SetReplanning], None],
        time_limit_s: float,
    ) -> None:
        self._resolved, self._running, self._moved_anyway = resolved, running, moved_anyway
        self._move_price, self._most_moves, self._known_bound = move_price, most_moves, known_bound
        self._on_answer, self._time_limit_s = on_answer, time_limit_s
        self._deadline = time.monotonic() + time_limit_s
        self._best: SetReplanning | None = None
        self._total: float | None = None
        self._least: Replanning | None = None
        self._limited = False

    def plan_in_turns(self, start: SetReplanning | None) -> None:
        """Plans by what partitions carry in weighted turns."""
        known = start.answer if start is not None and start.points is self._resolved else None
        found = self._solved(self._resolved, self._running, TURNS_TIME * self._time_limit_s, known)
        self.take(self._resolved, found)

    def find_least(self) -> bool:
        """Finds the least total, and a plan if the relaxation's holds; returns whether there may be a plan."""
        points = loosest(self._resolved)
        left = min(LIMIT_TIME * self._time_limit_s, self._left_s)
        self._least = self._solved(points, counted(points, self._running), left)
        if self._least.stopped == StopReason.INFEASIBLE:
            return False
        self.take(points, self._least)
        return True

    def plan_by_kind(self) -> None:
        """Plans by what points carry beside others of their kind, time and again."""
        assert isinstance(self._resolved.rule, Percentile)
        kind = self._resolved.with_rule(OwnKind(self._resolved.rule.shared))
        by_kind = counted(kind, self._running)
        required = self._resolved.required_rps
        asked, failures = BEGIN * required, np.zeros(required.size, dtype=np.int64)
        for attempt in range(ROUNDS):
            if self._is_done() or self._left_s < 0.1:
                return
            in_turns = np.flatnonzero(failures >= FAILURES)
            asked[in_turns] = required[in_turns]
            points = replace(kind.with_rows_of(self._resolved, in_turns), required_rps=asked)
            running = _with_services_of(by_kind, self._running, frozenset(in_turns.tolist()))
            found = self._solved(points, running, self._left_s)
            if found.kept is None or not self._is_better(found):
                return
            short = self.take(points, found) < required * ENOUGH
            failures += short
            report(f"replan: sets of partitions, round {attempt + 1}: {int(short.sum())} services are short")
            if not short.any():
                return
            asked = np.where(short, _counts(points, found) * (1 + MORE), asked)  # which these partitions do not give

    def take(self, points: ResolvedProblem, found: Replanning) -> Floats:
        """Keeps a plan whose sets hold if it is the best so far; returns what they carry, shape (workload,)."""
        required = self._resolved.required_rps
        if found.kept is None:
            return np.zeros(required.size)
        carried = carried_by_sets(self._resolved, points, found)
        if (carried >= required * ENOUGH).all() and self._is_better(found):
            own = replace(points, required_rps=required)
            self._best, self._total = SetReplanning(own, found), self._total_of(found)
            self._on_answer(self.answer())
        return carried

    def answer(self) -> SetReplanning:
        """Returns the best plan so far, with what is proven of all."""
        least = None if self._least is None else self._least.least
        if self._best is None:
            assert self._least is not None  # it is looked for before anything is said without a plan
            if self._least.stopped == StopReason.INFEASIBLE:
                return SetReplanning(self._resolved, self._least)
            stopped = ended(None, least, gap=self._resolved.gap, limited=self._limited)
            nothing = Replanning(stopped, self._least.solver, least, frozenset(), None, None, None)
            return SetReplanning(self._resolved, nothing)
        limited = self._limited or self._least is None
        stopped = ended(self._total, least, gap=self._resolved.gap, limited=limited)
        return replace(self._best, answer=replace(self._best.answer, stopped=stopped, least=least))

    def _solved(
        self,
        points: ResolvedProblem,
        running: Sequence[RunningGpu],
        time_limit_s: float,
        start: Replanning | None = None,
    ) -> Replanning:
        found = solve_replanning(
            points,
            running,
            self._moved_anyway,
            move_price=self._move_price,
            most_moves=self._most_moves,
            known_bound=self._known_bound,
            start=start,
            time_limit_s=time_limit_s,
        )
        self._limited |= found.stopped == StopReason.TIME_LIMIT
        return found

    @property
    def _left_s(self) -> float:
        return max(self._deadline - time.monotonic(), 0.05)

    def _is_done(self) -> bool:
        least = None if self._least is None else self._least.least
        return self._total is not None and is_within(self._resolved.gap, self._total, least)

    def _total_of(self, found: Replanning) -> float:
        return total_per_hour(self._resolved, self._running, found, self._move_price)

    def _is_better(self, found: Replanning) -> bool:
        """Tells whether a solution costs less than the best plan, or as much and moves fewer services."""
        if self._best is None or self._total is None:
            return True
        total = self._total_of(found)
        if total > self._total * (1 + NO_GAP):
            return False
        return total < self._total * (1 - NO_GAP) or len(found.moved) < len(self._best.answer.moved)


def _with_services_of(
    running: Sequence[RunningGpu], others: Sequence[RunningGpu], services: frozenset[int]
) -> tuple[RunningGpu, ...]:
    """Returns what runs with what partitions of some services count for elsewhere."""
    return tuple(
        replace(
            gpu,
            partitions=tuple(
                there if one.workload in services else one
                for one, there in zip(gpu.partitions, other.partitions, strict=True)
            ),
        )
        for gpu, other in zip(running, others, strict=True)
    )


def _counts(points: ResolvedProblem, found: Replanning) -> Floats:
    """Returns what the partitions of each service count for in a solution, shape (workload,)."""
    total = np.zeros(points.required_rps.size)
    for one in (partition for gpu in found.kept or () for partition in gpu.kept):
        total[one.workload] += one.capacity_rps
    for (w, k), times in (found.partitions or {}).items():
        total[w] += times * float(points.capacity_rps[w, k])
    return total
