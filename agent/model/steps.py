"""
The steps that bring a node from what it has to what a plan wants, in an order that the driver accepts.

Each step is one change of the driver's, of a daemon or of a service, so that a node stopped between two of them is
described by what was read back. Within a GPU: services that go stop, then their MPS daemons; compute instances and GPU
instances are destroyed; MIG mode changes, with a reset where it takes one; instances are created, then MPS daemons and
services start, and services are asked for their health. GPUs whose mode changes come first, since they
are the ones that can fail for reasons outside the plan.

What is the same before and after is not touched: an instance with the same profile and start, a service with the same
settings on it. A service whose settings change, whose instance is made anew, or whose MPS daemon comes or goes stops
and starts, because a process takes all of these over only when it starts; so does one that is not healthy. The
steps on a CPU are in core_steps.py.

There is no second function for the way back: undoing is the transition from what is there to what was there
before. The inverses of the done steps in reverse order would not do: a mode change and its reset keep their order
on the way back, and a step that was half carried out has no inverse.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from .core_services import CpuState
from .core_steps import OnCpu, core_steps_between
from .device_key import DeviceKey, cpu_index, device_order
from .live import LiveCpu, LiveGpu, LiveNode
from .node import DeviceState, GpuState, NodeState, Service, Slot, in_order


@dataclass(frozen=True)
class GpuStep:
    """A step on one GPU."""

    gpu_index: int

    @property
    def device(self) -> DeviceKey:
        """The GPU that it is about."""
        return self.gpu_index


@dataclass(frozen=True)
class SetMigMode(GpuStep):
    """Switches MIG mode of an idle GPU on or off; on Ampere a reset makes it effective."""

    enabled: bool


@dataclass(frozen=True)
class ResetGpu(GpuStep):
    """Resets an idle GPU, so that a pending MIG mode takes effect (Ampere)."""


@dataclass(frozen=True)
class InstanceStep(GpuStep):
    """A step on one MIG instance."""

    profile: str
    start: int

    @property
    def slot(self) -> Slot:
        """The slot that the instance is."""
        return Slot(self.gpu_index, self.start)


@dataclass(frozen=True)
class CreateInstance(InstanceStep):
    """Creates a GPU instance at its start, without a compute instance."""


@dataclass(frozen=True)
class CreateComputeInstance(InstanceStep):
    """Creates a compute instance of full size in a GPU instance, which makes it usable and gives it a new UUID."""


@dataclass(frozen=True)
class DestroyComputeInstance(InstanceStep):
    """Destroys every compute instance of a GPU instance."""


@dataclass(frozen=True)
class DestroyInstance(InstanceStep):
    """Destroys a GPU instance that has no compute instance any more."""


@dataclass(frozen=True)
class MpsStep(GpuStep):
    """A step on the MPS daemon of a slot."""

    start: int | None

    @property
    def slot(self) -> Slot:
        """The slot that the daemon serves."""
        return Slot(self.gpu_index, self.start)


@dataclass(frozen=True)
class StartMps(MpsStep):
    """Starts the MPS daemon of a slot."""


@dataclass(frozen=True)
class StopMps(MpsStep):
    """Stops the MPS daemon of a slot, which has no services any more."""


@dataclass(frozen=True)
class ServiceStep(GpuStep):
    """A step on one service of a GPU."""

    service: Service

    @property
    def slot(self) -> Slot:
        """The slot that the service runs on."""
        return Slot(self.gpu_index, self.service.start)


@dataclass(frozen=True)
class StartService(ServiceStep):
    """Starts a service with its settings: device, MPS daemon, cap and memory limit."""


@dataclass(frozen=True)
class StopService(ServiceStep):
    """Lets a service finish what it works on, and ends it."""


@dataclass(frozen=True)
class CheckHealth(ServiceStep):
    """Waits until a service that was started is healthy; changes nothing."""


OnGpu = (
    SetMigMode
    | ResetGpu
    | CreateInstance
    | CreateComputeInstance
    | DestroyComputeInstance
    | DestroyInstance
    | StartMps
    | StopMps
    | StartService
    | StopService
    | CheckHealth
)

Step = OnGpu | OnCpu


def interrupts_gpu(step: Step) -> TypeGuard[SetMigMode | ResetGpu]:
    """Tells whether a step interrupts everything that runs on the GPU."""
    return isinstance(step, SetMigMode | ResetGpu)


def steps_between(live: LiveNode, desired: NodeState, resets: Sequence[int] = ()) -> list[Step]:
    """
    Returns the steps from what a node has to what is wanted of it.

    Parameters
    ----------
    live
        Must have the GPUs and CPUs of `desired`; its others are left alone.
    resets
        GPUs of which a change of MIG mode takes a reset.
    """
    keys = sorted(desired, key=device_order)
    by_device = [list(_steps_of(key, live[key], desired[key], key in resets)) for key in keys]
    by_device.sort(key=lambda steps: not any(interrupts_gpu(step) for step in steps))
    return [step for steps in by_device for step in steps]


def _steps_of(key: DeviceKey, before: LiveGpu | LiveCpu, after: DeviceState, reset: bool) -> Iterator[Step]:
    if isinstance(key, int) and isinstance(before, LiveGpu) and isinstance(after, GpuState):
        yield from _gpu_steps(key, before, after, reset)
    elif isinstance(key, str) and isinstance(before, LiveCpu) and isinstance(after, CpuState):
        yield from core_steps_between(cpu_index(key), before, after)
    else:
        raise ValueError(f"{key} is a GPU here and a CPU there")


def _gpu_steps(index: int, before: LiveGpu, after: GpuState, reset: bool) -> Iterator[Step]:
    kept = _kept_instances(before, after)
    stay = _undisturbed(before, after, kept)
    for service in in_order(running.service for running in before.services):
        if service not in stay:
            yield StopService(index, service)
    daemons_stay = {one for one in before.mps_starts & after.mps_starts if one is None or kept.get(one, False)}
    for start in _sorted(before.mps_starts - daemons_stay):
        yield StopMps(index, start)
    yield from _destroying(index, before, kept)
    yield from _mode_change(index, before, after.mig_enabled, reset)
    yield from _creating(index, after, kept)
    for start in _sorted(after.mps_starts - daemons_stay):
        yield StartMps(index, start)
    coming = [service for service in in_order(after.services) if service not in stay]
    for service in coming:
        yield StartService(index, service)
    for service in coming:
        yield CheckHealth(index, service)


def _kept_instances(before: LiveGpu, after: GpuState) -> dict[int, bool]:
    """Returns the starts of the GPU instances that stay, and whether they are usable as they are."""
    if not (before.mig_enabled and after.mig_enabled):
        return {}
    wanted = {(instance.start, instance.profile) for instance in after.instances}
    return {one.start: one.uuid is not None for one in before.instances if (one.start, one.profile) in wanted}


def _undisturbed(before: LiveGpu, after: GpuState, kept: dict[int, bool]) -> frozenset[Service]:
    """Returns the services that run on as they are: same settings, same device, same daemon or none."""
    same_mps = {
        service.start
        for service in after.services
        if (service.start in after.mps_starts) == (service.start in before.mps_starts)
    }
    running = frozenset(one.service for one in before.services if one.healthy is not False)
    usable = {start for start, is_usable in kept.items() if is_usable}
    if not after.mig_enabled and not before.mig_enabled:
        return frozenset(one for one in running & after.services if one.start is None and None in same_mps)
    return frozenset(one for one in running & after.services if one.start in usable & same_mps)


def _destroying(index: int, before: LiveGpu, kept: dict[int, bool]) -> Iterator[Step]:
    for instance in sorted(before.instances, key=lambda one: one.start):
        if instance.ci_ids and not kept.get(instance.start, False):
            yield DestroyComputeInstance(index, instance.profile, instance.start)
        if instance.start not in kept:
            yield DestroyInstance(index, instance.profile, instance.start)


def _creating(index: int, after: GpuState, kept: dict[int, bool]) -> Iterator[Step]:
    for instance in sorted(after.instances):
        if instance.start not in kept:
            yield CreateInstance(index, instance.profile, instance.start)
        if not kept.get(instance.start, False):
            yield CreateComputeInstance(index, instance.profile, instance.start)


def _mode_change(index: int, before: LiveGpu, enabled: bool, reset: bool) -> Iterator[Step]:
    if before.mig_pending != enabled:
        yield SetMigMode(index, enabled)
    if before.mig_enabled != enabled and reset:
        yield ResetGpu(index)


def _sorted(starts: frozenset[int | None] | set[int | None]) -> list[int | None]:
    return sorted(starts, key=lambda start: -1 if start is None else start)
