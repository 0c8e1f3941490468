"""
What keeps a planner from taking a problem, given up: each change is tried, and comes with the plan that it leads to.

A planner refuses a combination: an aim, turns, or partitions that are kept free, on GPUs or CPUs that are divided in a
way for which it does not know them. So one of these is given up at a time, settings before parts of the fleet.
"""

from collections.abc import Iterator, Sequence

from sliceplan.solver.model.errors import SliceplanError
from sliceplan.solver.model.problem import FleetEntry, Problem
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.model.proving import proving_planner

from .leaving_out import TRIAL_S
from .remedy import Remedy


def taken_with(problem: Problem, profiles: Sequence[Profile]) -> tuple[Remedy, ...]:
    """Returns the changes with which a problem that was refused has a plan, in the order in which they were tried."""
    from sliceplan.solver import api

    found = []
    for words, changed in _changes(problem):
        limit_s = min(TRIAL_S, changed.settings.time_limit_s)
        try:
            plan = api.solve(changed, proving_planner(changed), profiles=profiles, time_limit_s=limit_s)
        except SliceplanError:
            continue
        if plan.gpus and not plan.unserved and not plan.violations:
            found.append(Remedy(words, changed, plan))
    return tuple(found)


def _changes(problem: Problem) -> Iterator[tuple[str, Problem]]:
    settings = problem.settings
    if settings.objective != "cost":
        yield "Aim for fewest dollars", _with(problem, objective="cost", capacity_weights="equal")
    if settings.keeps_spares:
        yield "Keep no partitions free", _with(problem, spare_services=0, spare_gpu_loss=False)
    if settings.turns != "none":
        yield "Let no services take turns", _with(problem, turns="none")
    on_gpus = tuple(entry for entry in problem.fleet if entry.cpu is None)
    for words, fleet in (("Go without the CPUs", on_gpus), ("Share no GPUs by MPS", tuple(_without_mps(problem)))):
        if fleet and fleet != problem.fleet:
            yield words, problem.model_copy(update={"fleet": fleet})


def _without_mps(problem: Problem) -> Iterator[FleetEntry]:
    """Yields the fleet without what can be shared by MPS alone, the rest divided as it may be else."""
    for entry in problem.fleet:
        others = tuple(way for way in entry.sharing if way != "mps")
        if others:
            yield entry if others == entry.sharing else entry.model_copy(update={"sharing": others})


def _with(problem: Problem, **settings: object) -> Problem:
    return problem.model_copy(update={"settings": problem.settings.model_copy(update=settings)})
