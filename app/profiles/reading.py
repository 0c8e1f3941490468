"""
What somebody uploaded or pasted as profiles: which kind of file it is, and its profiles.

Kinds are told by what is in the files, as their names say little: a record with `profiles`; CSV with ParvaGPU's
columns; JSON lines of iGniter's or gpu-lets' artifact; what a load tester writes; else any table.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Literal

from sliceplan.solver.formats import gpulet_tables, gpulets, igniter, parvagpu
from sliceplan.solver.formats.measurements.facts import Facts
from sliceplan.solver.formats.measurements.profiles import measured_profiles
from sliceplan.solver.formats.measurements.registry import TOOLS
from sliceplan.solver.formats.measurements.sample import SourceText
from sliceplan.solver.formats.profile_files import refuse_impossible
from sliceplan.solver.model.errors import Finding, InputError
from sliceplan.solver.model.parsing import parse_record, parse_text
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile, ProfileFile

Kind = Literal["profiles", "parvagpu", "igniter", "gpulets", "gpulet-tables", "load test", "table"]

MOST_VALUES = 200_000
"""Of YAML or JSON."""

ARTIFACTS: Mapping[str, Callable[[Path], list[Profile]]] = {
    "parvagpu": parvagpu.read_parvagpu,
    "igniter": lambda path: igniter.igniter_profiles(path)[0],
    "gpulets": gpulets.read_gpulets,
    "gpulet-tables": gpulet_tables.read_gpulet_tables,
}
"""By kind; those that read a folder are in IN_FOLDERS."""

IN_FOLDERS = ("parvagpu", "gpulet-tables")


@dataclass(frozen=True)
class Text:
    """A file, or what was pasted."""

    name: str
    text: str


def kind_of(texts: Sequence[Text]) -> tuple[Kind, str]:
    """Returns what the texts are, and the load tester where it is one's results (else empty)."""
    first = texts[0].text
    names = {PurePath(text.name).name for text in texts}
    line = first.lstrip().split("\n", 1)[0]
    if {"inference.csv", "mem_util.csv"} <= names:
        return "gpulet-tables", ""
    if all(column in line for column in parvagpu.COLUMNS):
        return "parvagpu", ""
    if line.startswith("{") and (sections := _sections(first)):
        if "hardware" in sections:
            return "igniter", ""
        if "interference" in sections:
            return "gpulets", ""
    if "profiles:" in first or '"profiles"' in first:
        return "profiles", ""
    for tool in TOOLS.values():
        try:
            tool.read([SourceText(text.name, text.text) for text in texts])
        except InputError:
            continue
        return "load test", tool.name
    return ("profiles", "") if first.lstrip().startswith(("{", "version:")) else ("table", "")


def read_profiles(texts: Sequence[Text], kind: Kind) -> list[Profile]:
    """Returns the profiles of files of profiles or of an artifact; raises InputError with what is wrong."""
    if kind == "profiles":
        return [profile for text in texts for profile in _of_file(text)]
    with TemporaryDirectory() as folder:
        try:
            return _of_artifact(texts, kind, Path(folder))
        except InputError as error:
            findings = (
                Finding(one.source.replace(folder, "").lstrip("/") or texts[0].name, one.path, one.message)
                for one in error.findings
            )
            raise InputError(list(findings)) from error


def of_load_test(texts: Sequence[Text], tool: str, facts: Facts) -> tuple[list[Profile], tuple[str, ...]]:
    """Returns the profiles of a load tester's results, and notes; raises InputError with what is missing."""
    found = TOOLS[tool].read([SourceText(text.name, text.text) for text in texts])
    return measured_profiles(found, facts, tool)


def _of_file(text: Text) -> Sequence[Profile]:
    is_json = text.text.lstrip().startswith("{")
    data = parse_text(text.text, text.name, is_json=is_json, most_values=MOST_VALUES)
    if isinstance(data, dict) and "fleet" in data:
        profiles = parse_record(Problem, data, text.name).profiles
    else:
        profiles = parse_record(ProfileFile, data, text.name).profiles
    refuse_impossible(profiles, text.name)
    if not profiles:
        raise InputError([Finding(text.name, "profiles", "is empty; expected at least one")])
    return profiles


def _of_artifact(texts: Sequence[Text], kind: Kind, folder: Path) -> list[Profile]:
    read = ARTIFACTS[kind]
    for text in texts:
        (folder / PurePath(text.name).name).write_text(text.text, "utf-8")
    if kind in IN_FOLDERS:
        return read(folder)
    return [profile for text in texts for profile in read(folder / PurePath(text.name).name)]


def _sections(text: str) -> set[str]:
    """Returns the names of the sections of JSON lines; empty: it is none."""
    found: set[str] = set()
    for line in text.splitlines():
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return set()
        if not isinstance(row, dict):
            return set()
        found |= row.keys()
    return found
