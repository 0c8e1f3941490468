"""
What keeps a planner from taking a problem, given up: each change is tried, and comes with the plan that it leads to.

A planner refuses a combination: an aim, turns, or partitions that are kept free, on GPUs or CPUs that are divided in a
way for which it does not know them. So one of these is given up at a time, settings before parts of the fleet.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sliceplan.solver.model.errors import SliceplanError
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.problem import FleetEntry, Problem
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.model.proving import proving_planner

from .leaving_out import TRIAL_S
from .remedies import ALL_S, remedies
from .remedy import Remedy


def taken_with(problem: Problem, profiles: Sequence[Profile]) -> tuple[Remedy, ...]:
    """
    Returns the changes with which a problem that was refused has a plan, in the order in which they were tried.

    Where each leads to a problem that is taken and has no plan: each together with the longer SLOs, the GPUs or the
    services left out that give one.
    """
    from sliceplan.solver import api

    end = time.monotonic() + ALL_S
    found: list[Remedy] = []
    taken: list[tuple[str, Problem, list[str]]] = []
    for words, changed in _changes(problem):
        limit_s = min(TRIAL_S, changed.settings.time_limit_s)
        if time.monotonic() > end:
            break
        try:
            plan = api.solve(changed, proving_planner(changed), profiles=profiles, time_limit_s=limit_s)
        except SliceplanError:
            continue
        if plan.gpus and not plan.unserved and not plan.violations:
            found.append(Remedy(words, changed, plan))
        elif plan.status is not Status.REFUSED:
            names = [one.workload for one in plan.unserved] or [one.name for one in changed.workloads]
            taken.append((words, changed, names))
    if not found:
        for words, changed, names in taken:
            further = remedies(changed, names, profiles, end - time.monotonic())
            found += [replace(one, sentence=f"{words}, and {_as_next(one.sentence)}") for one in further[:1]]
    return tuple(found)


def _as_next(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _changes(problem: Problem) -> Iterator[tuple[str, Problem]]:
    settings = problem.settings
    if settings.objective != "cost":
        yield "Aim for fewest dollars", _with(problem, objective="cost", capacity_weights="equal")
    if settings.keeps_spares:
        yield "Keep no partitions free", _with(problem, spare_services=0, spare_gpu_loss=False)
    if settings.turns != "none":
        yield "Let no services take turns", _with(problem, turns="none")
    if settings.mps_rules != "free":
        yield "Decide everything under MPS, not shares alone", _with(problem, mps_rules="free")
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
