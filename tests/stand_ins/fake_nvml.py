"""
The library libnvidia-ml with a simulated node behind it, and NVIDIA's tools as programs that note what they are told.

NVIDIA's own binding runs unchanged: only the functions of the library are replaced, which get its ctypes arguments. So
what a test finds out includes how the binding is called. The traps are there too: a mode change that succeeds and
says in its status that the GPU is in use, MIG indices with gaps, and sessions that do not see what was made later.
"""

import ctypes
import os

import pynvml

from sliceplan.agent.devices.simulated.node import SimulatedNode
from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.model.steps import (
    CreateComputeInstance,
    CreateInstance,
    DestroyComputeInstance,
    DestroyInstance,
    ResetGpu,
    SetMigMode,
)
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.driver_names import CATALOGUE_NAMES, SAME_NAME

DRIVER_NAMES = {gpu: f"NVIDIA {name}" for name, gpu in CATALOGUE_NAMES.items()} | {
    gpu: f"NVIDIA {name}" for name, gpus in SAME_NAME.items() for gpu in gpus
}
NO_INSTANCE = 0xFFFFFFFF
COMPUTE_SLICES = {0: 1, 1: 2, 2: 3, 3: 4, 4: 7, 5: 8, 6: 6}
"""NVML_COMPUTE_INSTANCE_PROFILE_* -> compute slices."""


class FakeLibrary:
    """The functions of libnvidia-ml that the agent calls, on a simulated node."""

    def __init__(self, node: SimulatedNode, folder, old=False):
        self.node, self.old = node, old
        self.reset_file = folder / "resets"
        self.sessions = 0
        self.opened = 0
        self.kinds = pynvml.NVML_GPU_INSTANCE_PROFILE_COUNT
        """How many kinds of profiles the driver has heard of."""
        self.virtualization = pynvml.NVML_GPU_VIRTUALIZATION_MODE_NONE
        self._seen = {}
        self._handles = []
        self.fail = {}
        """Function -> error number that it returns from now on."""

    def install(self, monkeypatch):
        """Puts this library behind NVIDIA's binding."""
        monkeypatch.setattr(pynvml, "_LoadNvmlLibrary", lambda: None)
        monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer", self._function)

    def _function(self, name):
        short = name.removeprefix("nvml")
        function = getattr(self, short, None)
        if function is None or (self.old and short.endswith("InfoV")):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)

        def call(*arguments):
            if name in self.fail:
                return self.fail[name]
            if not self.sessions and short != "InitWithFlags":
                return pynvml.NVML_ERROR_UNINITIALIZED
            try:
                return function(*arguments) or pynvml.NVML_SUCCESS
            except DeviceError as error:
                return error.number

        return call

    # Sessions

    def InitWithFlags(self, _flags):
        self._do_resets()
        if not self.sessions:
            self._seen = dict(self.node.state())
        self.sessions += 1
        self.opened += 1

    def Shutdown(self):
        self.sessions -= 1

    def SystemGetDriverVersion(self, buffer, _size):
        buffer.value = b"580.65.06"

    # GPUs

    def DeviceGetVirtualizationMode(self, _device, mode):
        mode._obj.value = self.virtualization

    def DeviceGetCount_v2(self, count):
        count._obj.value = len(self.node.state())

    def DeviceGetHandleByIndex_v2(self, index, device):
        if index.value not in self.node.state():
            return pynvml.NVML_ERROR_INVALID_ARGUMENT
        return self._put(device, index.value)

    def DeviceGetName(self, device, buffer, _size):
        buffer.value = DRIVER_NAMES[self._gpu(device).gpu].encode()

    def DeviceGetMemoryInfo(self, device, info):
        info._obj.total = int(load_catalogue()[self._gpu(device).gpu].memory_mib * 2**20)

    def DeviceGetUUID(self, device, buffer, _size):
        index, *instance = self._get(device)
        gpu = self.node.state()[index]
        buffer.value = (instance[0].uuid if instance else gpu.uuid).encode()

    def DeviceGetMinorNumber(self, device, minor):
        minor._obj.value = self._get(device)[0]

    def DeviceGetMigMode(self, device, current, pending):
        gpu = self._gpu(device)
        if self._mig(device) is None:
            return pynvml.NVML_ERROR_NOT_SUPPORTED
        current._obj.value, pending._obj.value = gpu.mig_enabled, gpu.mig_pending
        return None

    def DeviceSetMigMode(self, device, mode, status):
        (index,) = self._get(device)
        try:
            self._apply(SetMigMode(index, bool(mode)))
        except DeviceError as error:
            if error.name != "IN_USE":
                raise
            status._obj.value = error.number
            return
        gpu = self._gpu(device)
        is_due = gpu.mig_enabled != gpu.mig_pending
        status._obj.value = pynvml.NVML_ERROR_RESET_REQUIRED if is_due else pynvml.NVML_SUCCESS

    def DeviceGetComputeRunningProcesses_v3(self, device, count, array):
        gpu = self._gpu(device)
        if count._obj.value < len(gpu.clients):
            count._obj.value = len(gpu.clients)
            return pynvml.NVML_ERROR_INSUFFICIENT_SIZE
        for entry, client in zip(array or [], gpu.clients, strict=False):
            instance = gpu.instance(client.start) if client.start is not None else None
            entry.pid, entry.gpuInstanceId = client.pid, instance.gi_id if instance else NO_INSTANCE
        count._obj.value = len(gpu.clients)
        return None

    def DeviceGetGraphicsRunningProcesses_v3(self, *_):
        return pynvml.NVML_ERROR_NOT_SUPPORTED

    # Profiles

    def DeviceGetGpuInstanceProfileInfoV(self, device, enum, info):
        profile = self._profile(device, enum)
        if isinstance(profile, int):
            return profile
        self._fill(info._obj, profile)
        info._obj.name = f"MIG {profile.name}".encode()
        return None

    def DeviceGetGpuInstanceProfileInfo(self, device, enum, info):
        profile = self._profile(device, enum)
        return profile if isinstance(profile, int) else self._fill(info._obj, profile)

    def DeviceGetGpuInstancePossiblePlacements_v2(self, device, profile_id, array, count):
        profile = self._by_id(device, profile_id)
        for place, start in zip(array or [], profile.starts, strict=False):
            place.start, place.size = start, profile.memory_slices
        count._obj.value = len(profile.starts)

    # GPU instances

    def DeviceCreateGpuInstanceWithPlacement(self, device, profile_id, placement, instance):
        (index,) = self._get(device)
        start = placement._obj.start
        self._apply(CreateInstance(index, self._by_id(device, profile_id).name, start))
        self._put(instance, index, start)

    def DeviceGetGpuInstances(self, device, profile_id, array, count):
        (index,) = self._get(device)
        name = self._by_id(device, profile_id).name
        found = [one for one in self._gpu(device).instances if one.profile == name]
        for number, one in enumerate(found):
            self._put_in(array, number, index, one.start)
        count._obj.value = len(found)

    def GpuInstanceGetInfo(self, instance, info):
        found = self._instance(instance)
        info._obj.id = found.gi_id
        info._obj.placement.start = found.start
        info._obj.placement.size = self._profile_of(instance).memory_slices

    def GpuInstanceDestroy(self, instance):
        index, start = self._get(instance)
        self._apply(DestroyInstance(index, self._instance(instance).profile, start))

    # Compute instances

    def GpuInstanceGetComputeInstanceProfileInfoV(self, instance, enum, _engines, info):
        slices = COMPUTE_SLICES.get(enum)
        full = self._profile_of(instance).compute_slices
        if slices is None or slices > full:
            return pynvml.NVML_ERROR_NOT_SUPPORTED
        info._obj.id, info._obj.sliceCount, info._obj.instanceCount = enum, slices, full // slices
        return None

    GpuInstanceGetComputeInstanceProfileInfo = GpuInstanceGetComputeInstanceProfileInfoV

    def GpuInstanceCreateComputeInstance(self, instance, profile_id, compute):
        index, start = self._get(instance)
        assert COMPUTE_SLICES[profile_id] == self._profile_of(instance).compute_slices
        self._apply(CreateComputeInstance(index, self._instance(instance).profile, start))
        self._put(compute, index, start, 0)

    def GpuInstanceGetComputeInstances(self, instance, profile_id, array, count):
        index, start = self._get(instance)
        found = self._instance(instance)
        # An instance that is not usable though it has compute instances has small ones.
        slices = self._profile_of(instance).compute_slices if found.uuid else 1
        ids = found.ci_ids if COMPUTE_SLICES[profile_id] == slices else ()
        for number, ci_id in enumerate(ids):
            self._put_in(array, number, index, start, ci_id)
        count._obj.value = len(ids)

    def ComputeInstanceGetInfo_v2(self, compute, info):
        info._obj.id = self._get(compute)[2]

    def ComputeInstanceDestroy(self, compute):
        index, start, _ = self._get(compute)
        self._apply(DestroyComputeInstance(index, self.node.state()[index].instance(start).profile, start))

    # MIG devices, as they were when the session was opened

    def DeviceGetMaxMigDeviceCount(self, _device, count):
        count._obj.value = 7

    def DeviceGetMigDeviceHandleByIndex(self, device, number, mig):
        (index,) = self._get(device)
        for one in self._seen[index].instances:
            if one.uuid is not None and one.gi_id == number.value + 1:
                return self._put(mig, index, one)
        return pynvml.NVML_ERROR_NOT_FOUND

    def DeviceGetGpuInstanceId(self, mig, gi_id):
        gi_id._obj.value = self._get(mig)[1].gi_id

    def DeviceGetComputeInstanceId(self, mig, ci_id):
        ci_id._obj.value = self._get(mig)[1].ci_ids[0]

    # Behind the functions

    def _apply(self, step):
        self.node.apply(step, 60.0)

    def _do_resets(self):
        """Carries out what the stand-in of nvidia-smi was asked for."""
        if self.reset_file.exists():
            uuids = self.reset_file.read_text().split()
            self.reset_file.unlink()
            for index, gpu in self.node.state().items():
                if gpu.uuid in uuids:
                    self._apply(ResetGpu(index))

    def _put(self, ref, *what):
        self._store(ref._obj, what)

    def _put_in(self, array, number, *what):
        self._handles.append(what)
        pointers = ctypes.cast(array, ctypes.POINTER(ctypes.c_void_p))
        pointers[number] = len(self._handles)

    def _store(self, pointer, what):
        self._handles.append(what)
        ctypes.c_void_p.from_buffer(pointer).value = len(self._handles)

    def _get(self, handle):
        return self._handles[ctypes.cast(handle, ctypes.c_void_p).value - 1]

    def _gpu(self, device):
        return self.node.state()[self._get(device)[0]]

    def _mig(self, device):
        return load_catalogue()[self._gpu(device).gpu].mig

    def _instance(self, handle):
        index, start = self._get(handle)
        return self.node.state()[index].instance(start)

    def _profile_of(self, instance):
        index, start = self._get(instance)
        gpu = self.node.state()[index]
        return load_catalogue()[gpu.gpu].mig.profile(gpu.instance(start).profile)

    def _profile(self, device, enum):
        if enum >= self.kinds:
            return pynvml.NVML_ERROR_INVALID_ARGUMENT
        mig = self._mig(device)
        profiles = {one.nvml_profile_enum: one for one in mig.profiles} if mig else {}
        return profiles.get(enum, pynvml.NVML_ERROR_NOT_SUPPORTED)

    def _by_id(self, device, profile_id):
        return next(one for one in self._mig(device).profiles if _profile_id(one) == profile_id)

    def _fill(self, info, profile):
        info.id, info.sliceCount, info.instanceCount = (
            _profile_id(profile),
            profile.compute_slices,
            profile.max_count,
        )
        info.multiprocessorCount = profile.sm_count or 0
        info.memorySizeMB = int(profile.memory_mib or 0)


def _profile_id(profile):
    """The id that a driver would give; made up where the catalogue does not know it."""
    return 200 + profile.nvml_profile_enum if profile.nvml_profile_id is None else profile.nvml_profile_id


SMI = """#!/bin/sh
echo "nvidia-smi $*" >> {folder}/calls
[ -e {folder}/no-reset ] && {{ echo "GPU is in use by fabric manager" >&2; exit 9; }}
echo "$2" >> {folder}/resets
"""

MPS = """#!/bin/sh
# Like the real one: `-d` leaves a daemon behind; without it, reads a command and tells the daemon of its pipe folder.
if [ "$1" = -d ]; then
  if [ "$2" = --serve ]; then
    trap 'exit 0' TERM
    while [ -d "$CUDA_MPS_PIPE_DIRECTORY" ]; do sleep 0.05; done
    exit 0
  fi
  echo "start $CUDA_VISIBLE_DEVICES $CUDA_MPS_PIPE_DIRECTORY $CUDA_MPS_LOG_DIRECTORY" >> {folder}/calls
  "$0" -d --serve > /dev/null 2>&1 &
  echo $! > "$CUDA_MPS_PIPE_DIRECTORY/pid"
  exit 0
fi
read -r line
echo "tell $CUDA_MPS_PIPE_DIRECTORY ${{CUDA_VISIBLE_DEVICES-unset}} $line" >> {folder}/calls
case $line in
quit) [ -e {folder}/hang ] && exec sleep 60; kill $(cat "$CUDA_MPS_PIPE_DIRECTORY/pid") ;;
quit*) kill $(cat "$CUDA_MPS_PIPE_DIRECTORY/pid") ;;
get_server_list) echo 4242 ;;
get_client_list*) cat {folder}/clients 2> /dev/null ;;
esac
"""


def install_tools(folder, monkeypatch):
    """Puts stand-ins of NVIDIA's tools first on the path; they note their calls in `calls`."""
    tools = folder / "bin"
    tools.mkdir()
    for name, text in (("nvidia-smi", SMI), ("nvidia-cuda-mps-control", MPS)):
        (tools / name).write_text(text.format(folder=folder))
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
