"""The planners by name: every module of this folder that defines PLANNERS takes part."""

import pkgutil
from functools import cache
from importlib import import_module

from ..model.errors import Finding, InputError
from ..model.parsing import closest
from .planner import Planner


@cache
def planners() -> dict[str, Planner]:
    """Returns the planners by name: the exact ones first, then the published ones by name."""
    package = __package__ or ""
    found: list[Planner] = []
    for module in pkgutil.iter_modules(import_module(package).__path__):
        found += getattr(import_module(f"{package}.{module.name}"), "PLANNERS", ())
    found.sort(key=lambda planner: (not planner.name.startswith("exact"), planner.name))
    return {planner.name: planner for planner in found}


def planner_named(name: str) -> Planner:
    """Returns a planner; raises InputError with the known names if there is none of this name."""
    known = planners()
    if name not in known:
        raise InputError([Finding("--planner", "", f"is {name!r}. {closest(name, known)}")])
    return known[name]
