"""
Reads `nvidia-smi mig -lgi`, the instances of every GPU.

    |   0  MIG 3g.40gb          9        1          4:4     |            GPU, profile, its id, instance id, start:size
"""

import re

from ...model.errors import Finding, InputError
from ...model.parsing import closest, grouped
from ..transcripts import without_prompts
from .live_gpus import GpuTypes, LiveGpu, LiveState, gpu_type, live_gpu

_NUMBER = r"(\d{1,4})"
_INSTANCE = re.compile(rf"\|\s*{_NUMBER}\s+MIG\s+(\S+)\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}:{_NUMBER}\s*\|")
_FRAME = re.compile(r"\+-+\+|\|=+\||\|[\sA-Za-z:]*\|")
_NONE = re.compile(r"No (GPU instances|MIG-enabled devices) found.*")


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
    for number, line in enumerate(without_prompts(text).splitlines(), 1):
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
