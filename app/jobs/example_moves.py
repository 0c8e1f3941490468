"""An example of a transition, for who has nothing that runs: the demo, and the demo after a service has grown."""

from collections.abc import Sequence
from dataclasses import dataclass

from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile

from .moves import MoveOptions, PlannedMoves, plan_moves

GROWS, GROWTH = "ad-ranking", 1.5
"""The service of the demo that has more requests, and how many times as many."""


@dataclass(frozen=True)
class ExampleMoves:
    """A transition with the problem that its next plan answers."""

    problem: Problem
    plan: Plan
    """The next one."""
    moves: PlannedMoves


def example_moves(problem: Problem, profiles: Sequence[Profile]) -> ExampleMoves:
    """Returns the way from the demo's plan to that of the demo with more requests; errors as for `plan_moves`."""
    from sliceplan.solver import api

    later = grown(problem)
    before, after = (api.solve(one, profiles=profiles) for one in (problem, later))
    return ExampleMoves(later, after, plan_moves(before, after, MoveOptions()))


def grown(problem: Problem) -> Problem:
    """Returns the problem with GROWTH times the rate of the service GROWS."""
    workloads = (
        one.model_copy(update={"rate_rps": GROWTH * one.rate_rps}) if one.name == GROWS else one
        for one in problem.workloads
    )
    return problem.model_copy(update={"workloads": tuple(workloads)})
