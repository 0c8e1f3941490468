"""The changes that NVML makes to a GPU: MIG mode, GPU instances, compute instances."""

import ctypes
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ...model.device_error import DeviceError
from .names import gpu_type
from .profiles import DriverProfile, driver_profiles
from .reading import compute_instance_handles, compute_profiles, instance_handles, mig_mode
from .session import HINTS, error_name, said

Holders = Callable[[], list[int]]


def set_mig_mode(nvml: ModuleType, index: int, enabled: bool, holders: Holders) -> None:
    """
    Switches MIG mode on or off, now or with the next reset.

    NVML reports in two places: the call can succeed while its activation status says that the GPU is in use.
    """
    what = f"GPU {index}: MIG mode cannot be switched {'on' if enabled else 'off'}"
    with said(nvml, what, holders):
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        status = nvml.nvmlDeviceSetMigMode(handle, int(enabled))
        if status not in (nvml.NVML_SUCCESS, nvml.NVML_ERROR_RESET_REQUIRED):
            name = error_name(nvml, status)
            raise DeviceError(name, what, holders() if name == "IN_USE" else [], HINTS.get(name), number=status)
        if mig_mode(nvml, handle)[1] != enabled:
            raise DeviceError("UNKNOWN", f"{what}: the driver accepted it, and did not do it")


def reset_is_due(nvml: ModuleType, index: int) -> bool:
    """Tells whether the MIG mode of a GPU waits for a reset."""
    with said(nvml, f"GPU {index}: its MIG mode cannot be read"):
        enabled, pending = mig_mode(nvml, nvml.nvmlDeviceGetHandleByIndex(index))
        return enabled != pending


def create_instance(nvml: ModuleType, index: int, profile_name: str, start: int) -> None:
    """Creates a GPU instance exactly at its start; the driver is never let choose one."""
    with said(nvml, f"GPU {index}: {profile_name} cannot be created at {start}"):
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        if not mig_mode(nvml, handle)[0]:
            raise DeviceError("NOT_SUPPORTED", f"GPU {index}: MIG mode is off, or waits for a reset")
        profile = _profile(nvml, handle, index, profile_name)
        if profile.starts is not None and start not in profile.starts:
            legal = ", ".join(map(str, profile.starts))
            message = f"GPU {index}: {profile_name} cannot start at {start}; this driver lets it start at {legal}"
            raise DeviceError("INVALID_ARGUMENT", message)
        if profile.size is None:
            raise DeviceError("NO_PERMISSION", f"GPU {index}: the placements of {profile_name} cannot be read")
        placement = nvml.c_nvmlGpuInstancePlacement_t(start, profile.size)
        nvml.nvmlDeviceCreateGpuInstanceWithPlacement(handle, profile.profile_id, ctypes.byref(placement))


def create_compute_instance(nvml: ModuleType, index: int, start: int) -> None:
    """Creates the compute instance of full size in a GPU instance."""
    with said(nvml, f"GPU {index}: no compute instance can be created at {start}"):
        instance, profile = _instance(nvml, index, start)
        kinds = [kind for kind in compute_profiles(nvml, instance) if kind.sliceCount == profile.compute_slices]
        if not kinds:
            message = f"GPU {index}: {profile.name} at {start} takes no compute instance of its full size"
            raise DeviceError("NOT_SUPPORTED", message)
        nvml.nvmlGpuInstanceCreateComputeInstance(instance, kinds[0].id)


def destroy_compute_instances(nvml: ModuleType, index: int, start: int, holders: Holders) -> None:
    """Destroys every compute instance of a GPU instance."""
    with said(nvml, f"GPU {index}: the compute instance at {start} cannot be destroyed", holders):
        instance, profile = _instance(nvml, index, start)
        found = [handle for handle, _ in compute_instance_handles(nvml, instance)]
        if not found:
            raise DeviceError("NOT_FOUND", f"GPU {index}: {profile.name} at {start} has no compute instance")
        for one in found:
            nvml.nvmlComputeInstanceDestroy(one)


def destroy_instance(nvml: ModuleType, index: int, start: int, holders: Holders) -> None:
    """Destroys a GPU instance, which has no compute instance any more."""
    with said(nvml, f"GPU {index}: the instance at {start} cannot be destroyed", holders):
        instance, _ = _instance(nvml, index, start)
        nvml.nvmlGpuInstanceDestroy(instance)


def _profile(nvml: ModuleType, handle: Any, index: int, name: str) -> DriverProfile:
    gpu = gpu_type(nvml, handle)
    found = driver_profiles(nvml, handle, gpu)
    for profile in found:
        if profile.name == name:
            return profile
    known = ", ".join(profile.name for profile in found) or "none"
    raise DeviceError("INVALID_ARGUMENT", f"GPU {index}: this driver has no profile {name}; it has {known}")


def _instance(nvml: ModuleType, index: int, start: int) -> tuple[Any, DriverProfile]:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    if mig_mode(nvml, handle)[0]:
        for profile in driver_profiles(nvml, handle, gpu_type(nvml, handle)):
            for instance in instance_handles(nvml, handle, profile.profile_id, profile.max_count):
                if nvml.nvmlGpuInstanceGetInfo(instance).placement.start == start:
                    return instance, profile
    raise DeviceError("NOT_FOUND", f"GPU {index} has no instance at {start}")
