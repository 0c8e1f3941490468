"""The planners by name: every module of this folder that defines PLANNERS takes part."""

import pkgutil
from collections.abc import Sequence
from functools import cache
from importlib import import_module

from ..model.errors import Finding, InputError
from ..model.parsing import closest
from .planner import Planner


@cache
def planners() -> dict[str, Planner]:
    """Returns the planners by name: the exact ones first, then the published ones by name."""
    found = [planner for module in _modules() for planner in _planners_of(module)]
    found.sort(key=lambda planner: (not planner.name.startswith("exact"), planner.name))
    return {planner.name: planner for planner in found}


def planner_named(name: str) -> Planner:
    """Returns a planner; raises InputError with the known names if there is none of this name."""
    own_module = name.replace("-", "_")  # the other planners need not be imported then, which takes a while
    if own_module in _modules():
        for planner in _planners_of(own_module):
            if planner.name == name:
                return planner
    known = planners()
    if name not in known:
        raise InputError([Finding("--planner", "", f"is {name!r}. {closest(name, known)}")])
    return known[name]


@cache
def _modules() -> tuple[str, ...]:
    """Returns the names of this folder's modules."""
    return tuple(module.name for module in pkgutil.iter_modules(import_module(__package__ or "").__path__))


def _planners_of(module: str) -> Sequence[Planner]:
    """Returns the planners that a module of this folder defines."""
    planners: Sequence[Planner] = getattr(import_module(f"{__package__}.{module}"), "PLANNERS", ())
    return planners
