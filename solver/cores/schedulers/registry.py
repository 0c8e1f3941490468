"""The schedulers by name: every module of this folder that defines SCHEDULERS takes part."""

import pkgutil
from functools import cache
from importlib import import_module

from ...model.errors import Finding, InputError
from ...model.parsing import closest
from .scheduler import Scheduler


@cache
def schedulers(*, under_interference: bool = False) -> dict[str, Scheduler]:
    """Returns the schedulers by name; those that do what another one does without interference only on demand."""
    package = __package__ or ""
    found: list[Scheduler] = []
    for module in pkgutil.iter_modules(import_module(package).__path__):
        found += getattr(import_module(f"{package}.{module.name}"), "SCHEDULERS", ())
    usual = [scheduler for scheduler in found if under_interference or not scheduler.for_levels]
    return {scheduler.name: scheduler for scheduler in sorted(usual, key=lambda one: one.name)}


def scheduler_named(name: str) -> Scheduler:
    """Returns a scheduler; raises InputError with the known names if there is none of this name."""
    known = schedulers(under_interference=True)
    if name not in known:
        raise InputError([Finding("--scheduler", "", f"is {name!r}. {closest(name, known)}")])
    return known[name]
