"""The MIG profiles of a GPU as its driver lists them, and where the catalogue differs."""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ....solver.model.catalogue import load_catalogue
from ....solver.model.hardware import MigGeometry


@dataclass(frozen=True)
class DriverProfile:
    """A kind of GPU instance that the driver offers."""

    name: str
    enum: int
    """Index NVML_GPU_INSTANCE_PROFILE_*."""
    profile_id: int
    """Id that create calls take; belongs to this device and driver."""
    compute_slices: int
    max_count: int
    sm_count: int
    memory_mib: int
    starts: tuple[int, ...] | None
    """None: the driver does not say (before R535 only in MIG mode, and only to root)."""
    size: int | None
    """Placement units of an instance; None: as `starts`."""


def driver_profiles(nvml: ModuleType, handle: Any, gpu: str) -> list[DriverProfile]:
    """Returns the MIG profiles of a GPU, which may be fewer than NVML knows; none: it has no MIG."""
    found = []
    for enum in range(nvml.NVML_GPU_INSTANCE_PROFILE_COUNT):
        try:
            info = _info(nvml, handle, enum)
        except nvml.NVMLError as error:
            if error.value == nvml.NVML_ERROR_INVALID_ARGUMENT:
                break  # this driver knows fewer kinds
            if error.value == nvml.NVML_ERROR_NOT_SUPPORTED:
                continue
            raise
        starts, size = _placements(nvml, handle, info.id)
        found.append(
            DriverProfile(
                _name(info, gpu, enum),
                enum,
                info.id,
                info.sliceCount,
                info.instanceCount,
                info.multiprocessorCount,
                info.memorySizeMB,
                starts,
                size,
            )
        )
    return found


def catalogue_differences(gpu: str, found: list[DriverProfile]) -> Iterator[str]:
    """Yields where the catalogue and the driver disagree about the MIG profiles of a GPU."""
    catalogue = load_catalogue()
    if gpu not in catalogue:
        yield f"{gpu} is not in the catalogue"
        return
    mig = catalogue[gpu].mig
    known = {profile.name: profile for profile in mig.profiles} if mig else {}
    there = {profile.name: profile for profile in found}
    for name in sorted(known.keys() - there.keys()):
        yield f"{name} is in the catalogue, and this driver does not offer it"
    for name in sorted(there.keys() - known.keys()):
        yield f"{name} is offered by this driver, and not in the catalogue"
    for name in sorted(known.keys() & there.keys()):
        facts, live = known[name], there[name]
        pairs: list[tuple[str, object, object]] = [
            ("compute slices", facts.compute_slices, live.compute_slices),
            ("instances at most", facts.max_count, live.max_count),
        ]
        if facts.nvml_profile_id is not None:
            pairs.append(("profile id", facts.nvml_profile_id, live.profile_id))
        if facts.sm_count is not None:
            pairs.append(("SMs", facts.sm_count, live.sm_count))
        if live.starts is not None:
            pairs.append(("starts", sorted(facts.starts), sorted(live.starts)))
            pairs.append(("size", facts.memory_slices, live.size))
        for what, expected, actual in pairs:
            if expected != actual:
                yield f"{name}: {what} {_shown(expected)} in the catalogue, {_shown(actual)} by the driver"


def _info(nvml: ModuleType, handle: Any, enum: int) -> Any:
    try:
        return nvml.nvmlDeviceGetGpuInstanceProfileInfo(handle, enum)
    except nvml.NVMLError as error:
        # Older drivers have the first version of the call only, which gives no name.
        if error.value not in (nvml.NVML_ERROR_FUNCTION_NOT_FOUND, nvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH):
            raise
        return nvml.nvmlDeviceGetGpuInstanceProfileInfo(handle, enum, version=1)


def _name(info: Any, gpu: str, enum: int) -> str:
    """Returns the name of a profile as nvidia-smi prints it; the catalogue's where the driver gives none."""
    if name := getattr(info, "name", b""):
        text = name.decode() if isinstance(name, bytes) else str(name)
        return text.removeprefix("MIG ").strip()
    geometry: MigGeometry | None = load_catalogue()[gpu].mig if gpu in load_catalogue() else None
    known = {profile.nvml_profile_enum: profile.name for profile in geometry.profiles} if geometry else {}
    return known.get(enum, f"profile {info.id}")


def _placements(nvml: ModuleType, handle: Any, profile_id: int) -> tuple[tuple[int, ...] | None, int | None]:
    count = ctypes.c_uint(0)
    try:
        nvml.nvmlDeviceGetGpuInstancePossiblePlacements(handle, profile_id, None, ctypes.byref(count))
        places = (nvml.c_nvmlGpuInstancePlacement_t * max(count.value, 1))()
        nvml.nvmlDeviceGetGpuInstancePossiblePlacements(handle, profile_id, places, ctypes.byref(count))
    except nvml.NVMLError:
        return None, None
    found = list(places)[: count.value]
    return tuple(place.start for place in found), found[0].size if found else None


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
