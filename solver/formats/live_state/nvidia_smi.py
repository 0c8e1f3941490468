"""
Reads the tables of nvidia-smi: `mig -lgi`, the instances of every GPU, and `mig -lgipp`, where they may be.

    |   0  MIG 3g.40gb          9        1          4:4     |      -lgi: GPU, profile, its id, instance id, start:size
    GPU  0 Profile ID 19 Placements: {0,1,2,3,4,5,6}:1            -lgipp; with one place: `Placement : {0}:8`
"""

import re
from collections.abc import Iterator

from ...model.errors import Finding, InputError
from ...model.hardware import Gpu
from ...model.parsing import closest, grouped
from .live_gpus import GpuTypes, LiveGpu, LiveState, gpu_type, live_gpu

_NUMBER = r"(\d{1,4})"
_INSTANCE = re.compile(rf"\|\s*{_NUMBER}\s+MIG\s+(\S+)\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}:{_NUMBER}\s*\|")
_FRAME = re.compile(r"\+-+\+|\|=+\||\|[\sA-Za-z:]*\|")
_NONE = re.compile(r"No (GPU instances|MIG-enabled devices) found.*")
_PLACES = re.compile(rf"GPU\s+{_NUMBER}\s+Profile ID\s+{_NUMBER}\s+Placements?\s*:\s*\{{([\d,\s]{{1,99}})\}}:{_NUMBER}")


def read_instances(text: str, source: str, types: GpuTypes) -> LiveState:
    """
    Returns the GPUs of a node that are cut by MIG, from the output of `nvidia-smi mig -lgi`.

    Raises
    ------
    InputError
        If a line is neither of the table's frame nor an instance, or the instances cannot be on such GPUs.
    """
    rows: dict[int, list[tuple[str, int, int, int]]] = {}
    findings = []
    known = False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if match := _INSTANCE.fullmatch(stripped):
            index, profile_id, _, start, size = (int(match[group]) for group in (1, 3, 4, 5, 6))
            rows.setdefault(index, []).append((match[2], profile_id, start, size))
            known = True
        elif _NONE.fullmatch(stripped):
            known = True
        elif stripped and not _FRAME.fullmatch(stripped):
            findings.append(Finding(source, f"line {number}", f"is {line[:60]!r}; no line of `nvidia-smi mig -lgi`"))
    if not known and not findings:
        findings = [Finding(source, "", "has no instance; expected the output of `nvidia-smi mig -lgi`")]
    gpus: list[LiveGpu] = []
    for index, instances in rows.items():
        try:
            gpus.append(_gpu(index, instances, source, types))
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(grouped(list(dict.fromkeys(findings))))
    return LiveState(tuple(gpus))


def catalogue_differences(text: str, source: str, facts: Gpu) -> tuple[str, ...]:
    """
    Returns where the output of `nvidia-smi mig -lgipp` differs from the catalogue's entry of a GPU type.

    Raises
    ------
    InputError
        If a line is none of that output, GPUs of the node differ, or a profile is listed twice.
    """
    found: dict[int, dict[int, tuple[tuple[int, ...], int]]] = {}
    findings = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        match = _PLACES.fullmatch(line.strip())
        starts = match[3].replace(" ", "").split(",") if match else []
        if match is None or not all(start.isdigit() for start in starts):
            message = f"is {line[:60]!r}; no line of `nvidia-smi mig -lgipp`"
            findings.append(Finding(source, f"line {number}", message))
            continue
        of_gpu = found.setdefault(int(match[1]), {})
        if int(match[2]) in of_gpu:
            findings.append(Finding(source, f"line {number}", f"lists profile {match[2]} of GPU {match[1]} again"))
        of_gpu[int(match[2])] = (tuple(sorted(map(int, starts))), int(match[4]))
    if not found and not findings:
        findings = [Finding(source, "", "is empty; expected the output of `nvidia-smi mig -lgipp`")]
    first = next(iter(found.values()), {})
    if any(other != first for other in found.values()):
        message = "lists GPUs that differ; list one (`nvidia-smi mig -i N -lgipp`), and check each"
        findings.append(Finding(source, "", message))
    if findings:
        raise InputError(grouped(findings))
    return tuple(_differences(first, facts))


def _differences(found: dict[int, tuple[tuple[int, ...], int]], facts: Gpu) -> Iterator[str]:
    known = facts.mig.profiles if facts.mig else ()
    profiles = {profile.nvml_profile_id: profile for profile in known if profile.nvml_profile_id is not None}
    if nameless := [profile.name for profile in known if profile.nvml_profile_id is None]:
        yield f"{', '.join(nameless)}: the catalogue does not know the ids, by which the driver lists places"
    for profile_id, (starts, size) in sorted(found.items()):
        profile = profiles.get(profile_id)
        if profile is None:
            yield f"profile {profile_id}: the driver has it, with {_places(starts, size)}; the catalogue does not"
        elif (tuple(sorted(profile.starts)), profile.memory_slices) != (starts, size):
            ours = _places(profile.starts, profile.memory_slices)
            yield f"{profile.name} ({profile_id}): the driver has {_places(starts, size)}; the catalogue {ours}"
    for profile_id, profile in profiles.items():
        if profile_id not in found:
            yield f"{profile.name} ({profile_id}): the catalogue has it; the driver does not"


def _places(starts: tuple[int, ...], size: int) -> str:
    return f"{{{','.join(map(str, sorted(starts)))}}}:{size}"


def _gpu(index: int, rows: list[tuple[str, int, int, int]], source: str, types: GpuTypes) -> LiveGpu:
    facts = gpu_type(index, types, source)
    findings, found = [], []
    for name, profile_id, start, size in rows:
        profile = facts.mig.profile(name) if facts.mig else None
        where = f"GPU {index}, {name} at {start}"
        if profile is None:
            hint = closest(name, [one.name for one in facts.mig.profiles] if facts.mig else ())
            findings.append(Finding(source, where, f"is no profile of {facts.name}. {hint} Is --gpu right?"))
        elif profile.nvml_profile_id not in (profile_id, None):
            message = f"has profile id {profile_id}; on {facts.name} it is {profile.nvml_profile_id}. Is --gpu right?"
            findings.append(Finding(source, where, message))
        else:
            found.append((profile, start, size))
    if findings:
        raise InputError(findings)
    return live_gpu(index, facts, found, source)
