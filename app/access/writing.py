"""
Everything that the page writes to the store: each function takes who asks for it, and refuses those who may not.

No other part of the page calls the store's own functions that write (a test holds it to that). They raise what those
of app/store raise, and NotAllowedError.
"""

from sqlalchemy import Engine

from ...solver.model.plan import Plan
from ...solver.model.problem import Problem
from ...solver.model.sweep_report import SweepReport
from ..store import plans, problems, sweeps
from ..store.records import SavedPlan, SavedSweep, Version, VersionKey
from .identity import Identity, editor


def save_new_problem(
    store: Engine, problem: Problem, *, name: str, by: Identity, note: str = "", copied: VersionKey | None = None
) -> Version:
    """Saves a problem's first version under a name."""
    return problems.save_new_problem(store, problem, name=name, author=editor(by), note=note, copied=copied)


def save_problem(store: Engine, problem: Problem, *, parent: VersionKey, by: Identity, note: str = "") -> Version:
    """Saves the next version of a problem; ConflictError if somebody saved in between."""
    return problems.save_problem(store, problem, parent=parent, author=editor(by), note=note)


def restore_version(store: Engine, version: VersionKey, *, parent: int, by: Identity, note: str = "") -> Version:
    """Saves an old version as the next one; ConflictError if somebody saved after version `parent`."""
    return problems.restore_version(store, version, parent=parent, author=editor(by), note=note)


def archive_problem(store: Engine, name: str, *, by: Identity) -> None:
    """Puts a problem out of sight."""
    problems.archive_problem(store, name, author=editor(by))


def unarchive_problem(store: Engine, name: str, *, by: Identity) -> None:
    """Takes a problem out of the archive."""
    editor(by)
    problems.unarchive_problem(store, name)


def save_plan(store: Engine, plan: Plan, *, problem: VersionKey, by: Identity, note: str = "") -> SavedPlan:
    """Saves a plan beside the version that it answers."""
    return plans.save_plan(store, plan, problem=problem, author=editor(by), note=note)


def archive_plan(store: Engine, plan: int, *, by: Identity) -> None:
    """Puts a plan out of sight."""
    plans.archive_plan(store, plan, author=editor(by))


def unarchive_plan(store: Engine, plan: int, *, by: Identity) -> None:
    """Takes a plan out of the archive."""
    editor(by)
    plans.unarchive_plan(store, plan)


def save_sweep(store: Engine, report: SweepReport, *, problem: VersionKey, by: Identity, note: str = "") -> SavedSweep:
    """Saves a sweep beside the version that it varies."""
    return sweeps.save_sweep(store, report, problem=problem, author=editor(by), note=note)


def archive_sweep(store: Engine, sweep: int, *, by: Identity) -> None:
    """Puts a sweep out of sight."""
    sweeps.archive_sweep(store, sweep, author=editor(by))


def unarchive_sweep(store: Engine, sweep: int, *, by: Identity) -> None:
    """Takes a sweep out of the archive."""
    editor(by)
    sweeps.unarchive_sweep(store, sweep)
