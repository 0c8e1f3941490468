"""
What a defragmentation would win: the same services on the same fleet, with few of them moved, or all.

Imports the solvers only when called, so that a page may name the function and leave the work to a worker.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from .digest import reference
from .formats.profile_files import shipped_profiles
from .model.defragmentation_report import DefragmentationReport, DefragmentationStep
from .model.errors import InputError, NoPlanError, described
from .model.plan import Plan, Status
from .model.problem import Problem
from .model.profile import Profile
from .performance.resolve import resolve
from .progress import report as say

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
    time_limit_s: float = 3.0,
) -> DefragmentationReport:
    """
    Returns the cheapest plans that move at most so many services, and the plan made anew, each with the way to it.

    Parameters
    ----------
    moves
        Ascending. Those after one that reaches the bound are left out, as more moves win nothing.
    time_limit_s
        Of each search.

    Raises
    ------
    InputError
        If the problem refers to something unknown, or what runs cannot be as the plan says.
    """
    from . import api

    known = shipped_profiles() if profiles is None else profiles
    say("plans anew, from nothing")
    fresh = api.solve(problem, profiles=known, time_limit_s=time_limit_s, start=running)
    bound = fresh.bound.cost_per_hour
    today = _cost_per_hour(problem, running, known)
    best = _stays(problem, running, today)
    steps: list[DefragmentationStep] = []
    note = ""
    search = _Search(problem, running, known, time_limit_s)
    for most in (*moves, None):
        if _reaches(best, bound):
            break
        say("with any number of moves" if most is None else f"with at most {most} moves")
        try:
            found = search.with_at_most(most)
        except InputError as error:
            note = "; ".join(dict.fromkeys(finding.message for finding in error.findings))
            break
        except Exception as error:  # the other searches stand
            note, found = described(error), None
        if found is not None and found.plan is not None and _is_cheaper(found, best):
            best = search.with_way(found)
        # What fewer moves reach, more do too.
        if best is not None:
            proven = found is not None and found.proven
            steps.append(best.model_copy(update={"most_moves": most, "proven": proven}))
        elif found is not None:
            steps.append(found)
    anew = DefragmentationStep(most_moves=None, plan=fresh, moved=(), proven=fresh.status is Status.OPTIMAL)
    if fresh.gpus and _is_cheaper(anew, best):
        steps = [step for step in steps if step.most_moves is not None]
        steps.append(search.with_way(anew))
    return DefragmentationReport(
        cost_per_hour=today, gpus_used=running.gpus_used, bound_per_hour=bound, steps=tuple(steps), note=note
    )


@dataclass(frozen=True)
class _Search:
    """Looks for cheaper plans that begin at what runs."""

    problem: Problem
    running: Plan
    profiles: Sequence[Profile]
    time_limit_s: float

    def with_at_most(self, most: int | None) -> DefragmentationStep | None:
        """Returns the cheapest plan found, without the way to it; None: none was found in time."""
        from .moving import replan

        try:
            plan, traded = replan(
                self.problem,
                self.running,
                most_moves=most,
                move_price=TIE_PRICE if most is None else None,
                profiles=self.profiles,
                time_limit_s=self.time_limit_s,
            )
        except NoPlanError as error:
            return DefragmentationStep(most_moves=most, plan=None, moved=(), proven=True, reason=str(error))
        if not plan.gpus:
            return None
        return DefragmentationStep(most_moves=most, plan=plan, moved=traded.moved, proven=traded.proven)

    def with_way(self, step: DefragmentationStep) -> DefragmentationStep:
        """Returns the step with the transition from what runs, and the plan's GPUs dealt as that says."""
        from .moving import transition

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
