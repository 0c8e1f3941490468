"""
The steps that bring a GPU from one state to another, in an order that the driver accepts.

Within a GPU: services and MPS daemon of the whole GPU that go, mode on, MPS daemons of instances that go, destroy,
create, MPS daemons of instances that come, mode off, MPS daemon of the whole GPU, its services.
Instances that are the same before and after (profile and start) are not touched; if only their processes change,
only their MPS daemon does. Destroying comes before creating because the new instances may need the room.
Shares that are the same before and after are not touched either. The daemon of a whole GPU stays as long as the GPU
has any: a percentage is fixed when a process starts, so a change of it concerns one service and not the daemon.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .node import GpuState, Instance, NodeState, Share, unused


@dataclass(frozen=True)
class SetMigMode:
    """Switches MIG mode of a GPU on or off."""

    gpu_index: int
    enabled: bool


@dataclass(frozen=True)
class ResetGpu:
    """Resets an idle GPU, so that a pending MIG mode takes effect (Ampere)."""

    gpu_index: int


@dataclass(frozen=True)
class InstanceStep:
    """A step on one MIG instance."""

    gpu_index: int
    profile: str
    start: int


@dataclass(frozen=True)
class CreateInstance(InstanceStep):
    """Creates a GPU instance at its start, and a compute instance of its full size."""


@dataclass(frozen=True)
class DestroyComputeInstance(InstanceStep):
    """Destroys the compute instance of a GPU instance."""


@dataclass(frozen=True)
class DestroyInstance(InstanceStep):
    """Destroys a GPU instance that has no compute instance any more."""


@dataclass(frozen=True)
class StopMps(InstanceStep):
    """Stops the MPS daemon of an instance."""


@dataclass(frozen=True)
class StartMps(InstanceStep):
    """Starts an MPS daemon for an instance and the processes that will run there."""

    processes: int


@dataclass(frozen=True)
class StartGpuMps:
    """Starts the MPS daemon of a whole GPU."""

    gpu_index: int


@dataclass(frozen=True)
class StopGpuMps:
    """Stops the MPS daemon of a whole GPU."""

    gpu_index: int


@dataclass(frozen=True)
class ServiceStep:
    """A step on one service behind the MPS daemon of a whole GPU."""

    gpu_index: int
    share: Share


@dataclass(frozen=True)
class StartService(ServiceStep):
    """Gives a service that comes the settings that its processes start with."""


@dataclass(frozen=True)
class RestartService(ServiceStep):
    """Gives a running service other settings, which it takes over when it restarts."""


@dataclass(frozen=True)
class StopService(ServiceStep):
    """Removes the settings of a service that goes."""


Step = (
    SetMigMode
    | ResetGpu
    | CreateInstance
    | DestroyComputeInstance
    | DestroyInstance
    | StartMps
    | StopMps
    | StartGpuMps
    | StopGpuMps
    | StartService
    | RestartService
    | StopService
)


def steps_between(current: NodeState, desired: NodeState, resets: Sequence[int] = ()) -> list[Step]:
    """
    Returns the steps from one state of a node to another: first what switches MIG on, then GPU by GPU.

    Parameters
    ----------
    desired
        GPUs that it leaves out are freed: their instances and shares go and MIG is switched off.
    resets
        GPUs of which a change of MIG mode takes a reset.
    """
    modes: list[Step] = []
    others: list[Step] = []
    for index in sorted(current):
        before, after = current[index], desired.get(index, unused(current[index]))
        if after.mig_enabled and not before.mig_enabled:
            # The daemon holds the GPU, whose mode changes only when it is idle.
            modes += [*_leaving_steps(index, before, after), *_mode_steps(index, True, resets)]
        else:
            others += _leaving_steps(index, before, after)
        others += _instance_steps(index, before, after)
        if before.mig_enabled and not after.mig_enabled:
            others += _mode_steps(index, False, resets)
        others += _coming_steps(index, before, after)
    return [*modes, *others]


def _mode_steps(index: int, enabled: bool, resets: Sequence[int]) -> list[Step]:
    change: list[Step] = [SetMigMode(index, enabled)]
    return [*change, ResetGpu(index)] if index in resets else change


def _instance_steps(index: int, before: GpuState, after: GpuState) -> Iterator[Step]:
    kept = before.instances & after.instances
    processes_before = {instance: instance.processes for instance in before.instances}
    processes_after = {instance: instance.processes for instance in after.instances}
    gone = sorted(before.instances - kept)
    added = sorted(after.instances - kept)
    changed = sorted(i for i in kept if processes_before[i] != processes_after[i])
    for instance in sorted([*gone, *changed]):
        if processes_before[instance] > 1:
            yield StopMps(index, instance.profile, instance.start)
    for instance in gone:
        yield DestroyComputeInstance(index, instance.profile, instance.start)
        yield DestroyInstance(index, instance.profile, instance.start)
    for instance in added:
        yield CreateInstance(index, instance.profile, instance.start)
    for instance in sorted([*added, *changed]):
        if processes_after[instance] > 1:
            yield _start_mps(index, instance, processes_after[instance])


def _start_mps(index: int, instance: Instance, processes: int) -> StartMps:
    return StartMps(index, instance.profile, instance.start, processes)


def _leaving_steps(index: int, before: GpuState, after: GpuState) -> Iterator[Step]:
    """Yields the steps for services that go, and for the daemon if none stays or comes."""
    stay = {share.service for share in after.shares}
    for share in sorted(before.shares):
        if share.service not in stay:
            yield StopService(index, share)
    if before.shares and not after.shares:
        yield StopGpuMps(index)


def _coming_steps(index: int, before: GpuState, after: GpuState) -> Iterator[Step]:
    """Yields the steps for services that change or come, and for the daemon if there was none."""
    if after.shares and not before.shares:
        yield StartGpuMps(index)
    present = {share.service: share for share in before.shares}
    changed = [share for share in after.shares - before.shares if share.service in present]
    # Those that give up processes go first, or the clients could pass the limit of the GPU on the way.
    for share in sorted(changed, key=lambda one: (one.processes - present[one.service].processes, one)):
        yield RestartService(index, share)
    for share in sorted(after.shares):
        if share.service not in present:
            yield StartService(index, share)
