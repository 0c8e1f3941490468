"""
Names in a problem that refer to nothing: GPU types, models, and names used twice.

This works on plain data, so that it also runs beside the findings of a file that is no valid problem: a user sees
everything that is wrong at once.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..model.catalogue import load_catalogue, load_cpus, unknown_type
from ..model.errors import Finding, InputError
from ..model.lists import few
from ..model.parsing import FirstFindings, closest, shown
from ..model.problem import Problem
from ..model.profile import Profile


@dataclass(frozen=True)
class References:
    """The names that a problem refers to; None or empty where the data holds no usable name."""

    fleet: Sequence[str | None]
    """GPU or CPU type of each fleet entry."""
    cpus: Collection[int]
    """Indices of the entries that are of CPUs."""
    models: Sequence[str | None]
    """Model of each workload."""
    gpus: Sequence[Sequence[str] | None]
    """GPU types that each workload allows; None: all."""


def references_of(problem: Problem) -> References:
    """Returns the names that a problem refers to."""
    return References(
        [entry.gpu for entry in problem.fleet],
        {i for i, entry in enumerate(problem.fleet) if entry.cpu is not None},
        [workload.model for workload in problem.workloads],
        [workload.gpus for workload in problem.workloads],
    )


def refuse_unknown(problem: Problem, profiles: Iterable[Profile]) -> None:
    """Raises InputError if a problem refers to a GPU type or a model that does not exist."""
    if found := unknown_references(references_of(problem), problem.profiles_over(profiles), problem.name):
        raise InputError(found)


def findings_beside(data: Any, known: Iterable[tuple[str, str]], source: str) -> list[Finding]:
    """Returns what can be said of the names in data that is no valid problem; arguments as `unknown_references`."""
    fleet, workloads = _rows(data, "fleet"), _rows(data, "workloads")
    own = [(_text(row.get("model")), _text(row.get("cpu")) or _text(row.get("gpu"))) for row in _rows(data, "profiles")]
    known = [*known, *((model, gpu) for model, gpu in own if model is not None and gpu is not None)]
    found = References(
        [_text(row.get("cpu")) or _text(row.get("gpu")) for row in fleet],
        {i for i, row in enumerate(fleet) if _text(row.get("cpu"))},
        [_text(row.get("model")) for row in workloads],
        [_texts(row.get("gpus")) for row in workloads],
    )
    findings = unknown_references(found, known, source)
    names = Counter(_text(row.get("name")) for row in workloads)
    if repeated := [name for name, times in names.items() if name is not None and times > 1]:
        message = f"workloads have the same name: {few(repeated)}; names must be unique"
        findings.append(Finding(source, "", message))
    return findings


def unknown_references(references: References, known: Iterable[tuple[str, str]], source: str) -> list[Finding]:
    """
    Returns a finding for each GPU type and model that does not exist where it is asked for.

    Parameters
    ----------
    known
        Model and GPU type of each profile.
    """
    gpus, cpus = load_catalogue(), load_cpus()
    fleet = [gpu for gpu in dict.fromkeys(references.fleet) if gpu is not None and (gpu in gpus or gpu in cpus)]
    in_fleet = {gpu for gpu in references.fleet if gpu is not None}
    found = FirstFindings(source)
    for i, gpu in enumerate(references.fleet):
        is_cpu = i in references.cpus
        if gpu is not None and gpu not in (cpus if is_cpu else gpus):
            found.add(partial(_unknown_type, f"fleet[{i}].{'cpu' if is_cpu else 'gpu'}", gpu, is_cpu))
    gpus_of: dict[str, list[str]] = {}
    for profiled, gpu in known:
        gpus_of.setdefault(profiled, []).append(gpu)
    sound: set[tuple[str | None, tuple[str, ...] | None]] = set()
    for i, (model, allowed_gpus) in enumerate(zip(references.models, references.gpus, strict=True)):
        asked_for = (model, None if allowed_gpus is None else tuple(dict.fromkeys(allowed_gpus)))
        if asked_for in sound:
            continue
        unknown = _unknown_gpus(f"workloads[{i}]", allowed_gpus or (), in_fleet, fleet)
        allowed = fleet if allowed_gpus is None else [gpu for gpu in fleet if gpu in set(allowed_gpus)]
        if model is not None:
            unknown += _without_profile(f"workloads[{i}]", model, allowed, gpus_of)
            if not unknown:
                sound.add(asked_for)
        for tell in unknown:
            found.add(tell)
    return found.findings


Tell = Callable[[], tuple[str, str]]
"""Says, when it is called, which field is wrong and why: only the first findings are put into words."""


def _unknown_gpus(path: str, allowed: Sequence[str], in_fleet: Collection[str], fleet: Sequence[str]) -> list[Tell]:
    """Returns what there is to say of the types that a workload may use."""
    catalogue = {*load_catalogue(), *load_cpus()}
    everywhere = [*fleet, *load_catalogue(), *load_cpus()]
    return [
        partial(_absent, f"{path}.gpus[{j}]", name, "not in the fleet", fleet if name in catalogue else everywhere)
        for j, name in enumerate(allowed)
        if name not in in_fleet
    ]


def _without_profile(path: str, model: str, allowed: Sequence[str], gpus_of: Mapping[str, Sequence[str]]) -> list[Tell]:
    """Returns what there is to say of a model without a profile on the types that it may use."""
    if model not in gpus_of:
        return [partial(_absent, f"{path}.model", model, "there is no profile of this model", gpus_of)]
    if allowed and not any(gpu in gpus_of[model] for gpu in allowed):
        message = f"is {model!r}; profiled on {', '.join(gpus_of[model])}, not on {', '.join(allowed)}"
        return [partial(_said, f"{path}.model", message)]
    return []


def _said(path: str, message: str) -> tuple[str, str]:
    return path, message


def _unknown_type(path: str, name: str, is_cpu: bool) -> tuple[str, str]:
    return path, unknown_type(name, is_cpu=is_cpu)


def _absent(path: str, name: str, why: str, known: Iterable[str]) -> tuple[str, str]:
    return path, f"is {shown(name)}; {why}. {closest(name, known)}"


def _rows(data: Any, key: str) -> list[Mapping[str, Any]]:
    rows = data.get(key) if isinstance(data, Mapping) else None
    return [row if isinstance(row, Mapping) else {} for row in rows] if isinstance(rows, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _texts(value: Any) -> list[str] | None:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else None
