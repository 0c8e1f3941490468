"""
The question of a plan around what runs where GPUs may be shared by MPS, and what is at hand without a search.

No solver is loaded, which alone takes a short limit.
"""

from collections.abc import Iterator, Sequence

from ...allocation.allocated import AllocatedGpu, MpsGpu
from ...allocation.assembly import UNKNOWN_BOUND
from ...exact.cost_lattice import NO_GAP
from ...exact.proof import ended
from ...exact.replanning.cleared_gpus import Around, ClearedGpus, is_better
from ...exact.replanning.running import Replanning
from ...model.plan import Plan, Search
from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Ints
from ...performance.resolve import ResolvedProblem
from ...planners.exact_plans.at_hand import at_hand as exact_at_hand
from ...planners.igniter import placed_on_each, within_limits
from .as_plan import plan_of
from .running_shares import RunningFleet, batches_alone
from .trade import Answer, nothing_traded, trade
from .what_runs import names_of


class SharedReplanning:
    """One question, and what is known of it."""

    def __init__(
        self,
        resolved: ResolvedProblem,
        running: Plan,
        fleet: RunningFleet,
        *,
        move_price: float | None,
        most_moves: int | None,
    ) -> None:
        self.resolved, self._running, self._fleet = resolved, running, fleet
        self._asked = move_price, most_moves
        self.move_price, self.most_moves = move_price or 0.0, most_moves
        self.must_move = names_of(resolved, fleet.known.must_move)
        self.bound = UNKNOWN_BOUND

        def batches(gpu: str, workload: int) -> Ints:
            return batches_alone(resolved, gpu, workload)

        self.ways = ClearedGpus(resolved, fleet.standing, fleet.known.must_move, batches)

    @property
    def moves_too_few(self) -> bool:
        """Whether fewer services may be moved than have to be."""
        return self.most_moves is not None and self.most_moves < len(self.must_move)

    @property
    def least(self) -> float | None:
        """USD per hour that no plan costs less than, with its moves."""
        cost = self.bound.cost_per_hour
        return None if cost is None else cost + self.move_price * len(self.must_move)

    def told(self, best: Around | None, stopped: StopReason, time_limit_s: float, solver: str | None) -> Answer:
        """Returns the plan and what it trades."""
        search = Search(stopped=stopped, time_limit_s=time_limit_s, solver=solver)
        if best is None:
            return nothing_traded(self.resolved, self.must_move, search, self.bound, *self._asked, self.least)
        answer = Replanning(stopped, solver or "", self.least, best.moved, best.kept, (), {}, best.placed)  # type: ignore[arg-type]
        plan = plan_of(self.resolved, self._running, self._fleet.known, answer, search, self.bound)
        proven = self.least is not None and best.total(self.move_price) <= self.least * (1 + NO_GAP)
        moved = names_of(self.resolved, best.moved)
        return plan, trade(moved, *self._asked, plan, self.must_move, self.least, proven)

    def ended(self, best: Around | None, *, limited: bool) -> StopReason:
        """Returns why the search ended."""
        total = None if best is None else best.total(self.move_price)
        return ended(total, self.least, gap=self.resolved.gap, limited=limited)


def at_hand_beside_shares(
    resolved: ResolvedProblem,
    running: Plan,
    fleet: RunningFleet,
    stopped: StopReason,
    *,
    move_price: float | None,
    most_moves: int | None,
) -> Answer:
    """Returns the plan that needs no search, in which all stays that may, and a bound at hand."""
    asked = SharedReplanning(resolved, running, fleet, move_price=move_price, most_moves=most_moves)
    known = exact_at_hand(resolved)
    asked.bound = asked.bound if known is None else known.bound
    best = None
    if not asked.moves_too_few:
        best = taken(asked, asked.ways.with_open(asked.ways.first_open, packed, 0.0), None)
    return asked.told(best, stopped, 0.0, None)


def taken(asked: SharedReplanning, one: Around | None, best: Around | None) -> Around | None:
    """Returns the better of two plans, of those that move no more than they may."""
    return one if one is not None and is_better(one, best, asked.move_price, asked.most_moves) else best


def packed(resolved: ResolvedProblem, _time_limit_s: float) -> Sequence[AllocatedGpu] | None:
    """Returns GPUs under MPS that serve a problem, by a heuristic; None: it finds none that are there."""
    found: Iterator[Sequence[MpsGpu]] = within_limits(resolved, placed_on_each(resolved))
    return next(found, None)
