"""Files of profiles: what `profiles/models` ships, what `import-profile` writes and `--profiles` reads."""

import json
import math
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from ..model.catalogue import load_catalogue, load_cpus, unknown_type
from ..model.core_partitions import CoreTree, allowed_cores
from ..model.errors import Finding, InputError
from ..model.interference import Interference
from ..model.parsing import closest, grouped, parse_record, parse_text, read_record
from ..model.profile import Profile, ProfileFile
from .text_files import write_text

OVERLAP = 2.0
"""Copies that overlap with execution and latencies rounded to 1 ms let a throughput exceed batch / latency this far."""

CATALOGUE_TOLERANCE = 0.01
"""A power or frequency may exceed the catalogue's figure this far, which is rounded."""

ENDINGS = (".yaml", ".yml", ".json")


class Row(dict[str, Any]):
    """A mapping that is written on one line."""


class _Dumper(yaml.SafeDumper):
    """Safe YAML with a `Row` in flow style and lists indented below their key."""

    # PyYAML passes indentless=True for lists within mappings; ignoring it is what indents them.
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 (see above)
        super().increase_indent(flow, False)


_Dumper.add_representer(
    Row, lambda dumper, row: dumper.represent_mapping("tag:yaml.org,2002:map", row, flow_style=True)
)


def write_profiles(profiles: Iterable[Profile], path: Path) -> None:
    """
    Writes a file of profiles: JSON if its name ends in .json, YAML with one curve or point a line otherwise.

    The same profiles give the same bytes. The file is written aside and then renamed, so that a reader sees the
    old file or the new one, never a part.

    Raises
    ------
    InputError
        If there is no profile to write, or the file cannot be written.
    """
    records = tuple(profiles)
    if not records:
        raise InputError([Finding(str(path), "", "would hold no profile; expected at least one")])
    if path.suffix.lower() == ".json":
        text = json.dumps(_file_data(records), indent=1, ensure_ascii=False) + "\n"
    else:
        text = profiles_yaml(records)
    write_text(path, text)


def profiles_yaml(profiles: Iterable[Profile]) -> str:
    """Returns a file of profiles as YAML with one curve or point a line."""
    return yaml.dump(_file_data(profiles), Dumper=_Dumper, sort_keys=False, width=10**6, allow_unicode=True)


def _file_data(profiles: Iterable[Profile]) -> dict[str, Any]:
    return {"version": 1, "profiles": [profile_data(profile) for profile in profiles]}


def read_profiles(path: Path) -> list[Profile]:
    """
    Reads a file of profiles, or every file of a folder that ends in .yaml, .yml or .json, in the order of names.

    Raises
    ------
    InputError
        If a file is not one of profiles, or a folder holds none; the findings of all files at once.
    """
    if not path.is_dir():
        return _read_file(path)
    try:
        paths = sorted(entry for entry in path.iterdir() if entry.suffix.lower() in ENDINGS)
    except OSError as error:
        raise InputError([Finding(str(path), "", f"cannot be read: {error.strerror or error}")]) from error
    if not paths:
        raise InputError([Finding(str(path), "", f"holds no file of profiles ({', '.join(ENDINGS)})")])
    profiles: list[Profile] = []
    findings: list[Finding] = []
    for entry in paths:
        try:
            profiles += _read_file(entry)
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings)
    return profiles


def shipped_profiles() -> list[Profile]:
    """Returns the profiles that sliceplan ships, in the order of their files; a new list of shared records."""
    return list(_shipped())


@cache
def _shipped() -> tuple[Profile, ...]:
    folder = files("sliceplan.profiles").joinpath("models")
    shipped = [entry for entry in folder.iterdir() if entry.name.endswith(".yaml")]
    entries = sorted(shipped, key=lambda entry: entry.name)
    return tuple(
        profile
        for entry in entries
        for profile in parse_record(ProfileFile, parse_text(entry.read_text("utf-8"), entry.name), entry.name).profiles
    )


def _read_file(path: Path) -> list[Profile]:
    profiles = list(read_record(ProfileFile, path).profiles)
    refuse_impossible(profiles, str(path))
    return profiles


def refuse_impossible(profiles: Sequence[Profile], source: str) -> None:
    """Raises InputError with what profiles state that cannot be of their GPU types, or of any."""
    findings = [found for i, profile in enumerate(profiles) for found in _unknown_names(profile, i, source)]
    findings += [found for i, profile in enumerate(profiles) for found in _impossible_points(profile, i, source)]
    findings += [found for i, profile in enumerate(profiles) for found in _beyond_the_gpu(profile, i, source)]
    if findings:
        raise InputError(grouped(findings))


def _unknown_names(profile: Profile, index: int, source: str) -> list[Finding]:
    """Returns a finding for a type that the catalogue does not have, or a partition that the type does not have."""
    if profile.cpu is not None:
        return _unknown_cores(profile, index, source)
    catalogue = load_catalogue()
    gpu = catalogue.get(profile.gpu)
    if gpu is None:
        return [Finding(source, f"profiles[{index}].gpu", unknown_type(profile.gpu, is_cpu=False))]
    known = [mig.name for mig in gpu.mig.profiles] if gpu.mig else []
    named = [(f"points[{j}]", point.mig_profile) for j, point in enumerate(profile.points) if point.mig_profile]
    named += [(f"curves[{j}]", curve.mig_profile) for j, curve in enumerate(profile.curves)]
    return [
        Finding(
            source,
            f"profiles[{index}].{row}.mig_profile",
            f"is {name!r}; {profile.gpu} has no such MIG profile. {closest(name, known)}",
        )
        for row, name in named
        if name not in known
    ]


def _unknown_cores(profile: Profile, index: int, source: str) -> list[Finding]:
    """Returns a finding for a CPU type that the catalogue does not have, or cores that are no partition of it."""
    cpu = load_cpus().get(profile.gpu)
    if cpu is None:
        return [Finding(source, f"profiles[{index}].cpu", unknown_type(profile.gpu, is_cpu=True))]
    tree = CoreTree.of(cpu)
    return [
        Finding(
            source,
            f"profiles[{index}].points[{j}].cores",
            f"is {point.cores}; a partition of {cpu.name} has {allowed_cores(tree)}",
        )
        for j, point in enumerate(profile.points)
        if tree.level(point.cores or 0) is None
    ]


def _impossible_points(profile: Profile, index: int, source: str) -> list[Finding]:
    """Returns a finding for a throughput beyond what the latency allows, given overlap and rounding."""
    return [
        Finding(
            source,
            f"profiles[{index}].points[{j}].throughput_rps",
            f"is {point.throughput_rps:g}; {point.processes} process(es) that take {point.latency_ms:g} ms for a batch "
            f"of {point.batch} give {one:g}, and at most {OVERLAP:g} times that is accepted",
        )
        for j, point in enumerate(profile.points)
        if point.throughput_rps > OVERLAP * (one := 1000 * point.batch * point.processes / point.latency_ms)
    ]


def _beyond_the_gpu(profile: Profile, index: int, source: str) -> list[Finding]:
    """Returns a finding for a power or a frequency that the catalogue's GPU does not reach."""
    gpu, known = load_catalogue().get(profile.gpu), profile.interference
    if gpu is None or known is None:
        return []
    clock = gpu.max_clock_mhz
    limits = (
        ("max_power_w", known.gpu.max_power_w, gpu.tdp_w.value, "W"),
        ("max_frequency_mhz", known.gpu.max_frequency_mhz, clock.value if clock else math.inf, "MHz"),
    )
    return [
        Finding(
            source,
            f"profiles[{index}].interference.gpu.{field}",
            f"is {value:g}; a {gpu.name} has at most {limit:g} {unit} (`sliceplan gpus {gpu.name}`)",
        )
        for field, value, limit, unit in limits
        if value > limit * (1 + CATALOGUE_TOLERANCE)
    ]


def profile_data(profile: Profile) -> dict[str, Any]:
    """Returns the profile as it stands in a file: what is unknown or empty left out."""
    data: dict[str, Any] = {
        "model": profile.model,
        ("gpu" if profile.cpu is None else "cpu"): profile.gpu,
        "provenance": profile.provenance.model_dump(exclude_none=True),
    }
    for name, estimate in (("mig_estimate", profile.mig_estimate), ("share_estimate", profile.share_estimate)):
        if estimate is not None:
            data[name] = Row(estimate.model_dump())
    if profile.error is not None:
        data["error"] = Row(profile.error.model_dump())
    if profile.odd_points:
        data["odd_points"] = list(profile.odd_points)
    if profile.points:
        data["points"] = [Row(point.model_dump(exclude_none=True)) for point in profile.points]
    if profile.interference is not None:
        data["interference"] = _interference_data(profile.interference)
    if profile.neighbours is not None:
        data["neighbours"] = {
            key: Row(value) if isinstance(value, dict) else value
            for key, value in profile.neighbours.model_dump(exclude_none=True).items()
        }
    if profile.curves:
        data["curves"] = [Row(curve.model_dump()) for curve in profile.curves]
    return data


def _interference_data(interference: Interference) -> dict[str, Any]:
    data = interference.model_dump(mode="json", exclude_none=True)
    rows = {key: Row(data[key]) for key in ("gpu", "model", "measured")}
    return {**data, **rows, "errors": {name: Row(error) for name, error in data["errors"].items()}}
