"""Models without a profile on a GPU type of the fleet, and profiles that are estimated for them from another type."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile, merged
from sliceplan.solver.model.sharing import Sharing
from sliceplan.solver.performance.estimating import MARGIN, estimated, nearest


@dataclass(frozen=True)
class Asked:
    """What a service asks for."""

    model: str
    gpus: tuple[str, ...]
    """GPU types of the fleet that it may use."""


def asked_of(problem: Problem) -> list[Asked]:
    """Returns what a problem's services ask for, each kind once."""
    fleet = tuple(entry.gpu for entry in problem.fleet)
    asked = (
        Asked(one.model, fleet if one.gpus is None else tuple(gpu for gpu in fleet if gpu in one.gpus))
        for one in problem.workloads
    )
    return list(dict.fromkeys(asked))


def asked_in(fleet: pd.DataFrame, workloads: pd.DataFrame) -> list[Asked]:
    """Returns the same of tables, in which rows may be wrong or incomplete."""
    types = tuple(gpu for gpu in fleet["gpu"] if isinstance(gpu, str) and gpu)
    asked = []
    for model, gpus in zip(workloads["model"], workloads["gpus"], strict=True):
        if isinstance(model, str) and model:
            named = {part.strip() for part in gpus.split(",")} if isinstance(gpus, str) and gpus.strip() else set(types)
            asked.append(Asked(model, tuple(gpu for gpu in types if gpu in named)))
    return list(dict.fromkeys(asked))


def missing(asked: Iterable[Asked], profiles: Iterable[Profile]) -> dict[str, list[str]]:
    """Returns the models that services ask for and of which nothing is known there, by GPU type."""
    known = {(one.model, one.gpu) for one in profiles}
    found: dict[str, dict[str, None]] = {}
    for one in asked:
        for gpu in one.gpus:
            if (one.model, gpu) not in known:
                found.setdefault(gpu, {})[one.model] = None
    return {gpu: list(models) for gpu, models in found.items()}


def nowhere(asked: Iterable[Asked], profiles: Iterable[Profile]) -> dict[str, list[str]]:
    """Returns the same of models only of which nothing is known on any type that a service may use."""
    known = {(one.model, one.gpu) for one in profiles}
    return missing([one for one in asked if not any((one.model, gpu) in known for gpu in one.gpus)], profiles)


def estimates(gpu: str, models: Iterable[str], profiles: Iterable[Profile]) -> list[Profile]:
    """Returns an estimate for each model of which another GPU type was measured from which it can be carried."""
    catalogue, known = load_catalogue(), list(merged(profiles).values())
    if gpu not in catalogue:
        return []
    found = []
    for model in models:
        for one in nearest(model, catalogue[gpu], known, catalogue):
            try:
                found.append(estimated(one, catalogue[one.gpu], catalogue[gpu]))
            except InputError:
                continue
            break
    return found


def sharing_for(sharing: Sequence[Sharing], made: Sequence[Profile]) -> tuple[Sharing, ...]:
    """Returns how a GPU may be divided so that each estimate for it says something: also used whole, if need be."""
    gpu = load_catalogue().get(made[0].gpu) if made else None
    can = tuple(way for way in sharing if way != "mig" or gpu is None or gpu.mig is not None)
    silent = [says for one in made if not (says := _says(one)) & set(can)]
    return (*can, "exclusive") if any("exclusive" in says for says in silent) else can


def _says(profile: Profile) -> set[Sharing]:
    """Returns the ways of dividing a GPU of which a profile says something."""
    found: set[Sharing] = {"mig"} if profile.mig_points or profile.curves else set()
    found |= {"mps", "exclusive"} if profile.interference is not None else set()
    return found | ({"exclusive"} if profile.has_whole_points else set())


def in_words(gpu: str, made: Sequence[Profile]) -> str:
    """Returns what an estimate would be, as a button says it."""
    origins = list(dict.fromkeys(origin for one in made if (origin := _measured_on(one)) is not None))
    models = made[0].model if len(made) == 1 else f"{len(made)} models"
    return f"Estimate {models} on {gpu} from {' and '.join(origins)}, {MARGIN:.0%} added to the times"


def _measured_on(profile: Profile) -> str | None:
    for sharing in ("mig", "mps", "exclusive"):
        if (origin := profile.estimate(sharing)) is not None:
            return origin[0]
    return None
