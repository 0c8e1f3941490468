"""The store of this server: opened when it is first needed, and shared by all who use the page."""

import threading
from functools import cache, lru_cache

from sqlalchemy import Engine

from ...solver.model.digest import reference
from ...solver.model.problem import Problem
from ...solver.wording.shown_names import shown_names
from .problems import load_problem
from .records import VersionKey

_opening = threading.Lock()

VERSIONS = 64
"""Versions of problems that are kept at hand; they never change."""


def shared_store() -> Engine:
    """Returns the store that SLICEPLAN_DATABASE names; raises StoreError as `open_store` does, and anew each time."""
    with _opening:
        return _shared_store()


@cache
def _shared_store() -> Engine:
    # It takes Alembic, which is slow to import, and of no use before somebody saves or looks at what is saved.
    from .opening import open_store

    return open_store()


@lru_cache(VERSIONS)
def problem_at(store: Engine, version: VersionKey) -> Problem:
    """Returns a saved problem as `load_problem` does, from memory if it was there lately."""
    return load_problem(store, version)


def is_saved_as(store: Engine, problem: Problem, version: VersionKey) -> bool:
    """Tells whether a problem is as a version keeps it, labels too, which its digest does not have."""
    saved = problem_at(store, version)
    return reference(problem).sha256 == digest_at(store, version) and shown_names(problem) == shown_names(saved)


@lru_cache(VERSIONS)
def digest_at(store: Engine, version: VersionKey) -> str:
    """Returns the digest of a saved problem as this sliceplan computes it, which plans that it solves have."""
    return reference(problem_at(store, version)).sha256
