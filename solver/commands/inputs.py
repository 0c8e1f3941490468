"""What commands read before they do anything."""

from pathlib import Path
from typing import TYPE_CHECKING

from ..model.errors import Finding, InputError

if TYPE_CHECKING:
    from ..model.problem import Problem
    from ..model.profile import Profile


def known_profiles(paths: list[Path] | None) -> "list[Profile]":
    """Returns the shipped profiles and those of the files; raises InputError with the findings of all files."""
    from ..formats.profile_files import read_profiles, shipped_profiles

    known = shipped_profiles()
    findings: list[Finding] = []
    for path in paths or ():
        try:
            known += read_profiles(path)
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings)
    return known


def read_problem_and_profiles(problem: Path, profiles: list[Path] | None) -> "tuple[Problem, list[Profile]]":
    """Returns a problem and the profiles that it is resolved with: the shipped ones, then those of the option."""
    from ..formats.problem_files import read_problem

    known = known_profiles(profiles)
    return read_problem(problem, known), known
