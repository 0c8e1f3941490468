"""Problem files: YAML or JSON, and the examples that sliceplan ships."""

import json
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from ..model.either import as_written
from ..model.errors import Finding, InputError
from ..model.parsing import grouped, parse_record, parse_text, read_text
from ..model.problem import Problem
from ..model.profile import Profile
from ..performance.references import findings_beside
from .profile_files import Row, profile_data, refuse_impossible, shipped_profiles
from .text_files import write_text


def read_problem(path: Path, profiles: Iterable[Profile] | None = None) -> Problem:
    """Reads a problem; arguments and errors as for `parse_problem`."""
    return parse_problem(read_text(path), str(path), profiles)


def parse_problem(text: str, source: str, profiles: Iterable[Profile] | None = None) -> Problem:
    """
    Parses a problem, as JSON if the source's name ends in .json.

    Parameters
    ----------
    profiles
        Profiles whose models count as known; None: the shipped ones.

    Raises
    ------
    InputError
        With every finding if this is not a problem: fields that are wrong, and names that refer to nothing.
    """
    return problem_from(parse_text(text, source), source, profiles)


def problem_from(data: Any, source: str, profiles: Iterable[Profile] | None = None) -> Problem:
    """Returns the problem that plain data states; arguments and errors as for `parse_problem`."""
    if isinstance(data, dict) and "planner" in data and "gpus" in data and "workloads" not in data:
        raise InputError([Finding(source, "", "is a plan; expected a problem, which has `fleet` and `workloads`")])
    try:
        problem = parse_record(Problem, data, source)
        refuse_impossible(problem.profiles, source)
    except InputError as error:
        known = shipped_profiles() if profiles is None else profiles
        names = findings_beside(data, [(profile.model, profile.gpu) for profile in known], source)
        more = [found for found in names if found not in error.findings]
        raise InputError([*error.findings, *grouped(more)]) from error
    return problem


def dump_problem(problem: Problem) -> str:
    """Returns a problem as YAML; fields with their default value are left out, but for `version`."""
    data = problem.model_dump(mode="json", exclude_defaults=True)
    data["fleet"] = [as_written(entry) for entry in data["fleet"]]
    if problem.profiles:
        data["profiles"] = [profile_data(profile) for profile in problem.profiles]
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)


def write_problem(problem: Problem, path: Path) -> None:
    """Writes a problem: JSON if the name ends in .json, else YAML."""
    as_json = path.suffix.lower() == ".json"
    text = json.dumps(problem.model_dump(mode="json"), indent=1) + "\n" if as_json else dump_problem(problem)
    write_text(path, text)


def example_problems() -> dict[str, Problem]:
    """Returns the shipped example problems by name, the demo first."""
    folder = files("sliceplan.plans")
    entries = [entry for entry in folder.iterdir() if entry.name.endswith(".yaml")]
    entries.sort(key=lambda entry: (entry.name != "demo.yaml", entry.name))
    problems = [parse_problem(entry.read_text("utf-8"), entry.name) for entry in entries]
    return {problem.name: problem for problem in problems}


class _Dumper(yaml.SafeDumper):
    """Safe YAML with lists of plain values on one line."""


def _represent_list(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.Node:
    plain = not any(isinstance(item, dict | list) for item in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=plain)


_Dumper.add_representer(list, _represent_list)
_Dumper.add_representer(
    Row, lambda dumper, row: dumper.represent_mapping("tag:yaml.org,2002:map", row, flow_style=True)
)
