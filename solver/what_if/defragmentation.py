"""
What a defragmentation would win: the same services on the same fleet, with few of them moved, or all.

Imports the solvers only when called, so that a page may name the function and leave the work to a worker.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ..formats.profile_files import shipped_profiles
from ..model.counted import require_cost
from ..model.defragmentation_report import DefragmentationReport, DefragmentationStep
from ..model.digest import reference
from ..model.errors import InputError, NoPlanError, described
from ..model.plan import Plan, Status
from ..model.problem import Problem
from ..model.profile import Profile
from ..performance.resolve import resolve
from ..runtime.interruption import best_so_far, offer
from ..runtime.progress import report as say

MOVES = (0, 1, 2, 4, 8)
"""Numbers of moved services that are tried, before any number."""

ENOUGH = 1e-6
"""Relative; two costs this close are the same."""

TIE_PRICE = 1e-4
"""USD per hour and move: of plans that cost the same, the one that moves fewest."""


def defragmentation(
    problem: Problem,
    running: Plan,
    *,
    profiles: Sequence[Profile] | None = None,
    moves: Sequence[int] = MOVES,
    time_limit_s: float = 20.0,
) -> DefragmentationReport:
    """
    Returns the cheapest plans that move at most so many services, and the plan made anew, each with the way to it.

    Parameters
    ----------
    moves
        Ascending. Those after one that reaches the bound are left out, as more moves win nothing.
    time_limit_s
        Of all of it, each search has an equal part of what is left. The note says what there was no time for.

    Raises
    ------
    InputError
        If the problem refers to something unknown, or what runs cannot be as the plan says.
    """
    deadline = time.monotonic() + time_limit_s
    require_cost(problem, "defragmentation weighs dollars against moves")
    known = shipped_profiles() if profiles is None else profiles
    report = DefragmentationReport(
        cost_per_hour=_cost_per_hour(problem, running, known),
        gpus_used=running.gpus_used,
        bound_per_hour=None,
        steps=(),
        note=NO_TIME,
    )
    search = partial(_searched, report, _Search(problem, running, known, deadline), moves)
    return best_so_far(search, lambda _: report, deadline=deadline)


NO_TIME = "no time was left for more"


def _searched(report: DefragmentationReport, search: "_Search", moves: Sequence[int]) -> DefragmentationReport:
    """Returns the report; offers what it says so far."""
    problem, running = search.problem, search.running
    numbers = (*moves, None)
    say("plans anew, from nothing")
    fresh = search.anew(len(numbers) + 1)
    bound = fresh.bound.cost_per_hour
    anew = DefragmentationStep(most_moves=None, plan=fresh, moved=(), proven=fresh.status is Status.OPTIMAL)
    best = _stays(problem, running, report.cost_per_hour)
    steps: list[DefragmentationStep] = []
    note = ""

    def reported(*more: DefragmentationStep, why: str) -> DefragmentationReport:
        return report.model_copy(update={"bound_per_hour": bound, "steps": (*steps, *more), "note": why})

    def offered(*more: DefragmentationStep) -> None:
        last = (anew,) if fresh.gpus and _is_cheaper(anew, (*steps, *more)[-1] if (*steps, *more) else best) else ()
        so_far = reported(*more, *last, why=NO_TIME)
        offer(lambda _: so_far)

    offered()
    for left, most in zip(range(len(numbers), 0, -1), numbers, strict=True):
        if _reaches(best, bound):
            break
        say("with any number of moves" if most is None else f"with at most {most} moves")
        try:
            found = search.with_at_most(most, left)
        except InputError as error:
            note = "; ".join(dict.fromkeys(finding.message for finding in error.findings))
            break
        except Exception as error:  # the other searches stand
            note, found = described(error), None
        if found is not None and found.plan is not None and _is_cheaper(found, best):
            offered(found)
            best = search.with_way(found)
        # What fewer moves reach, more do too.
        if best is not None:
            proven = found is not None and found.proven
            steps.append(best.model_copy(update={"most_moves": most, "proven": proven}))
        elif found is not None:
            steps.append(found)
        offered()
    if fresh.gpus and _is_cheaper(anew, best):
        steps = [step for step in steps if step.most_moves is not None]
        offered(anew)
        steps.append(search.with_way(anew))
    return reported(why=note)


@dataclass(frozen=True)
class _Search:
    """Looks for cheaper plans that begin at what runs."""

    problem: Problem
    running: Plan
    profiles: Sequence[Profile]
    deadline: float
    """As time.monotonic() has it."""

    def part(self, searches: int) -> float:
        """Returns the seconds for the next of so many searches."""
        return max(self.deadline - time.monotonic(), 0.0) / searches

    def anew(self, searches: int) -> Plan:
        """Returns the plan that is made from nothing, in the time for the first of so many searches."""
        from .. import api

        return api.solve(self.problem, profiles=self.profiles, time_limit_s=self.part(searches), start=self.running)

    def with_at_most(self, most: int | None, searches: int) -> DefragmentationStep | None:
        """Returns the cheapest plan found, without the way to it; None: none was found in time."""
        from ..api import replan

        try:
            plan, traded = replan(
                self.problem,
                self.running,
                most_moves=most,
                move_price=TIE_PRICE if most is None else None,
                profiles=self.profiles,
                time_limit_s=self.part(searches),
            )
        except NoPlanError as error:
            return DefragmentationStep(most_moves=most, plan=None, moved=(), proven=True, reason=str(error))
        if not plan.gpus:
            return None
        return DefragmentationStep(most_moves=most, plan=plan, moved=traded.moved, proven=traded.proven)

    def with_way(self, step: DefragmentationStep) -> DefragmentationStep:
        """Returns the step with the transition from what runs, and the plan's GPUs dealt as that says."""
        from ..api import transition

        if step.plan is None:
            return step
        try:
            planned = transition(self.running, step.plan)
        except InputError as error:
            return step.model_copy(update={"reason": "; ".join(finding.message for finding in error.findings)})
        except Exception as error:
            return step.model_copy(update={"reason": described(error)})
        moved = planned.transition.disturbed.services
        update = {"plan": planned.assigned, "moved": moved, "transition": planned.transition}
        return step.model_copy(update=update)


def _stays(problem: Problem, running: Plan, cost_per_hour: float | None) -> DefragmentationStep | None:
    """Returns what moves nothing; None where what runs does not hold, or answers another problem, and may not stay."""
    if running.status is Status.VIOLATING or running.unserved or cost_per_hour is None:
        return None
    if running.problem != reference(problem):
        return None
    plan = running.model_copy(update={"cost_per_hour": cost_per_hour})
    return DefragmentationStep(most_moves=0, plan=plan, moved=(), proven=False)


def _cost_per_hour(problem: Problem, running: Plan, profiles: Sequence[Profile]) -> float | None:
    """Returns what runs costs at the problem's prices; None where it runs on GPUs that the fleet has not."""
    prices = {gpu: entry.price_per_hour for gpu, entry in resolve(problem, profiles).fleet_by_name.items()}
    if not running.gpus or any(gpu.gpu not in prices for gpu in running.gpus):
        return running.cost_per_hour
    return sum(prices[gpu.gpu] for gpu in running.gpus)


def _cost_of(step: DefragmentationStep | None) -> float | None:
    return None if step is None or step.plan is None else step.plan.cost_per_hour


def _is_cheaper(one: DefragmentationStep, other: DefragmentationStep | None) -> bool:
    cost, against = _cost_of(one), _cost_of(other)
    return cost is not None and (against is None or cost < against * (1 - ENOUGH))


def _reaches(step: DefragmentationStep | None, bound: float | None) -> bool:
    cost = _cost_of(step)
    return cost is not None and bound is not None and cost <= bound * (1 + ENOUGH)
