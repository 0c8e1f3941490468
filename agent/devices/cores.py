"""The CPUs of this node: their cores as the kernel has them, divided by slices of systemd or by threads' affinity."""

from ..model.core_steps import CheckOnCores, CoreStep, MoveToCores, StartOnCores, StopOnCores
from ..model.device_error import DeviceError
from ..model.device_key import DeviceKey, cpu_key
from ..model.live import LiveCpu, LiveGpu, LiveNode
from ..model.steps import Step
from ..services.core_host import CoreHost
from ..system.core_slices import CoreSlices
from ..system.host_cpus import read_sockets
from .device import Device


class CoreNode:
    """A Device: the CPUs of this node."""

    def __init__(self, slices: CoreSlices, services: CoreHost, *, needs_slices: bool = True) -> None:
        """
        Parameters
        ----------
        needs_slices
            Whether every service on cores has a slice; False: some may be plain processes, for which a node without
            cpusets does.
        """
        self._slices = slices
        self._services = services
        self._needs_slices = needs_slices

    def state(self) -> LiveNode:
        """Returns the cores of each CPU and what runs on them; raises DeviceError where they cannot be divided."""
        if self._needs_slices:
            self._slices.refuse_without_cpusets()
        running = self._services.running()
        sockets = read_sockets()
        return {cpu_key(i): LiveCpu(cores, tuple(running.get(i, ()))) for i, cores in enumerate(sockets)}

    def apply(self, step: Step, timeout_s: float) -> None:
        """Carries out a step on cores; raises DeviceError as the protocol says."""
        match step:
            case StartOnCores():
                self._services.start(step)
            case MoveToCores():
                self._services.move(step)
            case StopOnCores():
                self._services.stop(step, timeout_s)
            case CheckOnCores():
                self._services.check(step, timeout_s)
            case _:
                raise DeviceError("NOT_SUPPORTED", f"GPU {step.gpu_index} is not this agent's: it has CPUs only")


class BothKinds:
    """A Device: the GPUs and the CPUs of this node."""

    def __init__(self, gpus: Device, cpus: Device) -> None:
        self._gpus = gpus
        self._cpus = cpus

    def state(self) -> LiveNode:
        """Returns what is on the GPUs and what is on the CPUs."""
        live: dict[DeviceKey, LiveGpu | LiveCpu] = {}
        live.update(self._gpus.state())
        live.update(self._cpus.state())
        return live

    def apply(self, step: Step, timeout_s: float) -> None:
        """Carries out a step on either; raises DeviceError as the protocol says."""
        (self._cpus if isinstance(step, CoreStep) else self._gpus).apply(step, timeout_s)
