"""What NVML says of a GPU now: mode, instances with the UUIDs of their MIG devices, processes."""

import contextlib
import ctypes
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ....solver.model.errors import SliceplanError
from ...model.device_error import DeviceError
from ...model.live import LiveInstance
from .names import gpu_type
from .profiles import driver_profiles
from .session import opened, said


@dataclass(frozen=True)
class SeenProcess:
    """A process that the driver counts on a GPU."""

    pid: int
    start: int | None
    """Start of the instance that it uses; None: the GPU as a whole."""


@dataclass(frozen=True)
class SeenGpu:
    """One GPU as the driver describes it."""

    index: int
    driver_name: str
    gpu: str
    """Its type in the catalogue, or the driver's name."""
    uuid: str
    minor: int | None
    """Number of its device file /dev/nvidiaN; None: unknown."""
    mig_enabled: bool
    mig_pending: bool
    instances: tuple[LiveInstance, ...]
    sizes: dict[int, int]
    """Start of an instance -> placement units that it takes."""
    processes: tuple[SeenProcess, ...]


def read_gpus(nvml: ModuleType) -> Iterator[SeenGpu]:
    """Yields the GPUs of the node."""
    for index in range(nvml.nvmlDeviceGetCount()):
        yield read_gpu(nvml, index)


def driver_version() -> str | None:
    """Returns the version of the driver; None: it does not answer, and why a read-back says better."""
    try:
        with opened() as nvml, said(nvml, "the driver cannot be asked"):
            return str(nvml.nvmlSystemGetDriverVersion())
    except (DeviceError, SliceplanError):
        return None


def virtual_gpus() -> list[int]:
    """Returns the GPUs that are those of a vGPU guest, whose MIG mode and instances belong to its host."""
    found = []
    try:
        with opened() as nvml, said(nvml, "the driver cannot be asked"):
            for index in range(nvml.nvmlDeviceGetCount()):
                with contextlib.suppress(nvml.NVMLError):
                    mode = nvml.nvmlDeviceGetVirtualizationMode(nvml.nvmlDeviceGetHandleByIndex(index))
                    if mode == nvml.NVML_GPU_VIRTUALIZATION_MODE_VGPU:
                        found.append(index)
    except (DeviceError, SliceplanError):
        return []
    return found


def read_gpu(nvml: ModuleType, index: int) -> SeenGpu:
    """Returns one GPU; raises NVMLError if it does not answer."""
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    driver_name = nvml.nvmlDeviceGetName(handle)
    gpu = gpu_type(nvml, handle)
    enabled, pending = mig_mode(nvml, handle)
    seen = list(_instances(nvml, handle, gpu)) if enabled else []
    minor = None
    with contextlib.suppress(nvml.NVMLError):
        minor = nvml.nvmlDeviceGetMinorNumber(handle)
    starts = {instance.gi_id: instance.start for instance, _ in seen}
    return SeenGpu(
        index,
        driver_name,
        gpu,
        nvml.nvmlDeviceGetUUID(handle),
        minor,
        enabled,
        pending,
        tuple(sorted((instance for instance, _ in seen), key=lambda one: one.start)),
        {instance.start: size for instance, size in seen},
        tuple(_processes(nvml, handle, starts)),
    )


def mig_mode(nvml: ModuleType, handle: Any) -> tuple[bool, bool]:
    """Returns the MIG mode that is in force, and the one after the next reset."""
    try:
        current, pending = nvml.nvmlDeviceGetMigMode(handle)
    except nvml.NVMLError as error:
        if error.value == nvml.NVML_ERROR_NOT_SUPPORTED:
            return False, False
        raise
    return bool(current), bool(pending)


def instance_handles(nvml: ModuleType, handle: Any, profile_id: int, at_most: int) -> Iterator[Any]:
    """Yields the GPU instances of a profile."""
    count = ctypes.c_uint(at_most)
    array = (nvml.c_nvmlGpuInstance_t * max(at_most, 1))()
    nvml.nvmlDeviceGetGpuInstances(handle, profile_id, array, ctypes.byref(count))
    yield from list(array)[: count.value]


def compute_instance_handles(nvml: ModuleType, instance: Any) -> Iterator[tuple[Any, int]]:
    """Yields the compute instances of a GPU instance, each with its compute slices."""
    for profile in compute_profiles(nvml, instance):
        count = ctypes.c_uint(profile.instanceCount)
        array = (nvml.c_nvmlComputeInstance_t * max(profile.instanceCount, 1))()
        nvml.nvmlGpuInstanceGetComputeInstances(instance, profile.id, array, ctypes.byref(count))
        for one in list(array)[: count.value]:
            yield one, profile.sliceCount


def compute_profiles(nvml: ModuleType, instance: Any) -> Iterator[Any]:
    """Yields the kinds of compute instances that a GPU instance takes."""
    for enum in range(nvml.NVML_COMPUTE_INSTANCE_PROFILE_COUNT):
        try:
            yield _compute_info(nvml, instance, enum)
        except nvml.NVMLError as error:
            if error.value not in (nvml.NVML_ERROR_NOT_SUPPORTED, nvml.NVML_ERROR_INVALID_ARGUMENT):
                raise


def _compute_info(nvml: ModuleType, instance: Any, enum: int) -> Any:
    shared = nvml.NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED
    try:
        return nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, enum, shared)
    except nvml.NVMLError as error:
        if error.value not in (nvml.NVML_ERROR_FUNCTION_NOT_FOUND, nvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH):
            raise
        return nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, enum, shared, version=1)


def _instances(nvml: ModuleType, handle: Any, gpu: str) -> Iterator[tuple[LiveInstance, int]]:
    """Yields the GPU instances and their sizes; one is usable if its only compute instance has its full size."""
    uuids = _mig_uuids(nvml, handle)
    for profile in driver_profiles(nvml, handle, gpu):
        for instance in instance_handles(nvml, handle, profile.profile_id, profile.max_count):
            info = nvml.nvmlGpuInstanceGetInfo(instance)
            found = [
                (nvml.nvmlComputeInstanceGetInfo_v2(one).id, slices)
                for one, slices in compute_instance_handles(nvml, instance)
            ]
            is_full = [slices for _, slices in found] == [profile.compute_slices]
            uuid = uuids.get((info.id, found[0][0])) if is_full else None
            ci_ids = tuple(sorted(ci_id for ci_id, _ in found))
            yield LiveInstance(info.placement.start, profile.name, info.id, ci_ids, uuid), info.placement.size


def _mig_uuids(nvml: ModuleType, handle: Any) -> dict[tuple[int, int], str]:
    """Returns the UUIDs of the MIG devices by the ids of GPU instance and compute instance; their indices have gaps."""
    found = {}
    for number in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            device = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, number)
        except nvml.NVMLError as error:
            if error.value == nvml.NVML_ERROR_NOT_FOUND:
                continue
            raise
        ids = nvml.nvmlDeviceGetGpuInstanceId(device), nvml.nvmlDeviceGetComputeInstanceId(device)
        found[ids] = nvml.nvmlDeviceGetUUID(device)
    return found


def _processes(nvml: ModuleType, handle: Any, starts: dict[int, int]) -> Iterable[SeenProcess]:
    found: dict[SeenProcess, None] = {}
    for read in (nvml.nvmlDeviceGetComputeRunningProcesses, nvml.nvmlDeviceGetGraphicsRunningProcesses):
        with contextlib.suppress(nvml.NVMLError):  # some GPUs have no graphics, and MIG mode hides it
            for process in read(handle):
                found[SeenProcess(process.pid, starts.get(process.gpuInstanceId))] = None
    return found
