"""The profiles that every user of this page plans with: those that sliceplan ships, and those it was started with."""

import json
import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from sliceplan.solver.formats.profile_files import read_profiles, shipped_profiles
from sliceplan.solver.model.profile import Profile

PROFILES = "SLICEPLAN_PROFILES"
"""Environment variable with the paths of `sliceplan ui --profiles` as a JSON list; unset: none."""


def known_profiles() -> list[Profile]:
    """Returns them in the order in which a later one wins over an earlier one; a new list of shared records."""
    return list(_known(os.environ.get(PROFILES, "[]")))


def profiles_at(paths: Iterable[Path]) -> list[Profile]:
    """Returns the profiles of files and folders; raises InputError with what is wrong in one of them."""
    return [profile for path in paths for profile in read_profiles(path)]


def as_variable(paths: Sequence[Path]) -> str:
    """Returns what the environment variable is to hold for these paths."""
    return json.dumps([str(path.absolute()) for path in paths])


@cache
def _known(paths: str) -> tuple[Profile, ...]:
    return (*shipped_profiles(), *profiles_at(map(Path, json.loads(paths))))
