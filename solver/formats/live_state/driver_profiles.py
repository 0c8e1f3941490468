"""
Reads what the driver lists of MIG profiles: `nvidia-smi mig -lgip`, what each has, and `-lgipp`, where it may be.

    |   0  MIG 1g.10gb       19     7/7        9.75       No     16     1     0   |     -lgip: GPU, name, id, instances
    |                                                             1     1     0   |     (free/total), GiB, P2P, SMs, ...
    GPU  0 Profile ID 19 Placements: {0,1,2,3,4,5,6}:1                                  -lgipp; one: `Placement : {0}:8`
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ...model.errors import Finding, InputError
from ...model.parsing import grouped
from ..transcripts import without_prompts

COMMANDS = "`nvidia-smi mig -lgip` or `-lgipp`"

_NUMBER = r"(\d{1,4})"
_PLACES = re.compile(rf"GPU\s+{_NUMBER}\s+Profile ID\s+{_NUMBER}\s+Placements?\s*:\s*\{{([\d,\s]{{1,99}})\}}:{_NUMBER}")
_PROFILE = re.compile(
    rf"\|\s*{_NUMBER}\s+MIG\s+(\S+)\s+{_NUMBER}\s+{_NUMBER}/{_NUMBER}\s+(\d{{1,5}}\.\d+)\s+(?:Yes|No)\s+{_NUMBER}"
    rf"\s+\d+\s+\d+\s*\|"
)
_FRAME = re.compile(r"\+-+\+|\|=+\||\|[\sA-Za-z:/]*(P2P[\sA-Z]*)?\||\|(\s+\d+){3}\s*\|")
"""Frame, heading, and the second line of a profile: copy engines, JPEG, OFA."""


@dataclass(frozen=True)
class DriverProfile:
    """What the driver lists of a profile; None: what was given does not say."""

    name: str | None = None
    instances: int | None = None
    """As many as fit on an empty GPU."""
    memory_gib: float | None = None
    sm_count: int | None = None
    starts: tuple[int, ...] | None = None
    size: int | None = None


Listing = Mapping[int, DriverProfile]
"""Profile id -> what the driver lists of it."""


def read_driver_profiles(texts: Iterable[tuple[str, str]]) -> Listing:
    """
    Returns the profiles of a GPU from one or both listings.

    Parameters
    ----------
    texts
        Name and text of each file.

    Raises
    ------
    InputError
        If a line is none of these listings, GPUs of the node differ, a profile is listed twice, or the two listings
        have different profiles.
    """
    found: dict[str, dict[int, dict[int, DriverProfile]]] = {"-lgip": {}, "-lgipp": {}}
    findings: list[Finding] = []
    sources = []
    for source, text in texts:
        sources.append(source)
        for number, line in enumerate(without_prompts(text).splitlines(), 1):
            if not (stripped := line.strip()) or _FRAME.fullmatch(stripped):
                continue
            parsed = _parsed(stripped)
            where = f"line {number}"
            if parsed is None:
                findings.append(Finding(source, where, f"is {line[:60]!r}; no line of {COMMANDS}"))
                continue
            listing, gpu, profile_id, profile = parsed
            of_gpu = found[listing].setdefault(gpu, {})
            if profile_id in of_gpu:
                findings.append(Finding(source, where, f"lists profile {profile_id} of GPU {gpu} again"))
            of_gpu[profile_id] = profile
    both = [list(by_gpu.values()) for by_gpu in found.values() if by_gpu]
    shown = ", ".join(sources)
    if not both and not findings:
        findings.append(Finding(shown, "", f"is empty; expected the output of {COMMANDS}"))
    if any(other != gpus[0] for gpus in both for other in gpus):
        findings.append(Finding(shown, "", "lists GPUs that differ; list one (`nvidia-smi mig -i N`), and check each"))
    elif len(both) == 2 and both[0][0].keys() != both[1][0].keys():
        findings.append(Finding(shown, "", "has other profiles in -lgip than in -lgipp; take both from one GPU"))
    if findings:
        raise InputError(grouped(findings))
    return _merged([gpus[0] for gpus in both])


def _parsed(line: str) -> tuple[str, int, int, DriverProfile] | None:
    """Returns listing, GPU, id and profile of a line; None: it is neither listing's."""
    if match := _PROFILE.fullmatch(line):
        gpu, name, profile_id, _, total, memory, sm_count = match.groups()
        profile = DriverProfile(name, int(total), float(memory), int(sm_count))
        return "-lgip", int(gpu), int(profile_id), profile
    match = _PLACES.fullmatch(line)
    starts = match[3].replace(" ", "").split(",") if match else []
    if match is None or not all(start.isdigit() for start in starts):
        return None
    profile = DriverProfile(starts=tuple(sorted(map(int, starts))), size=int(match[4]))
    return "-lgipp", int(match[1]), int(match[2]), profile


def _merged(listings: list[dict[int, DriverProfile]]) -> Listing:
    if len(listings) == 1:
        return listings[0]
    of_both, places = listings
    return {
        profile_id: replace(profile, starts=places[profile_id].starts, size=places[profile_id].size)
        for profile_id, profile in of_both.items()
    }
