"""
A node without hardware: GPUs and CPUs of the catalogue that obey the rules of the driver and of the kernel.

It lives in memory, or in a file, which each step replaces as a whole. So an agent that is killed leaves such a node
as it would leave a real one: with or without the effect of a step, never with half of it.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from ....solver.model.errors import Finding, InputError
from ....solver.model.parsing import read_text
from ...files.durable_files import write_durably
from ...model.core_services import CpuState
from ...model.core_steps import CoreStep, StartOnCores, core_steps_between
from ...model.device_error import DeviceError
from ...model.device_key import DeviceKey, cpu_index, cpu_key, device_text
from ...model.live import Client, LiveCpu, LiveGpu, LiveNode, cpus_of, gpus_of, instance_uuids
from ...model.node import NodeState, gpu_states, in_order
from ...model.steps import CreateComputeInstance, CreateInstance, StartMps, StartService, Step
from .core_rules import carried_out_on_cores, simulated_cpus
from .injection import Injection, error_of
from .rules import carried_out, rebooted

AT_ONCE_S = 60.0
"""Time limit of steps that set a node up."""


@dataclass(frozen=True)
class NodeRecord:
    """All of a simulated node; what its file holds."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    gpus: dict[int, LiveGpu]
    cpus: dict[int, LiveCpu] = field(default_factory=dict)
    calls: int = 0
    """Calls of `apply` so far, refused ones too."""
    injections: tuple[Injection, ...] = ()
    origin: str = ""
    """Differs between nodes with different instances, so that none makes a UUID that the other one had."""
    version: Literal[1] = 1


class SimulatedNode:
    """A Device without hardware."""

    def __init__(self, live: LiveNode, injections: tuple[Injection, ...] = ()) -> None:
        self._record = record_of(live, injections)
        self._misread: Injection | None = None

    @classmethod
    def unused(cls, gpus: Mapping[int, str], cpus: Sequence[str] = ()) -> "SimulatedNode":
        """Returns a node with GPUs and CPUs of these types, MIG off and nothing on them."""
        made: dict[DeviceKey, LiveGpu | LiveCpu] = {}
        made.update({index: LiveGpu(name, _gpu_uuid(index, name)) for index, name in gpus.items()})
        made.update({cpu_key(index): cpu for index, cpu in simulated_cpus(list(cpus)).items()})
        return cls(made)

    @classmethod
    def in_state(cls, state: NodeState) -> "SimulatedNode":
        """
        Returns a node that is in a state already; raises DeviceError if the rules forbid that state.

        CPUs that the state leaves out before one that it has are like that one.
        """
        node = cls.unused({index: gpu.gpu for index, gpu in gpu_states(state).items()}, _sockets(state))
        for key, cpu in state.items():
            if isinstance(cpu, CpuState):
                for one in core_steps_between(cpu_index(str(key)), cpus_of(node.state())[key], cpu):
                    node.apply(one, AT_ONCE_S)
        for index, gpu in gpu_states(state).items():
            live = node._record.gpus[index]
            node._record.gpus[index] = replace(live, mig_enabled=gpu.mig_enabled, mig_pending=gpu.mig_enabled)
            steps: list[Step] = []
            for instance in sorted(gpu.instances):
                steps.append(CreateInstance(index, instance.profile, instance.start))
                steps.append(CreateComputeInstance(index, instance.profile, instance.start))
            steps += [StartMps(index, start) for start in gpu.mps_starts]
            steps += [StartService(index, service) for service in in_order(gpu.services)]
            for step in steps:
                node.apply(step, AT_ONCE_S)
        return node

    def state(self) -> LiveNode:
        """Returns what the node has now."""
        record = self._read()
        gpus = record.gpus
        if self._misread is not None:
            self._misread = None
            gpus = _with_a_wrong_uuid(gpus)
        live: dict[DeviceKey, LiveGpu | LiveCpu] = {}
        live.update(gpus.items())
        live.update({cpu_key(index): cpu for index, cpu in record.cpus.items()})
        return live

    def apply(self, step: Step, timeout_s: float) -> None:
        """Carries out a step; raises DeviceError where the driver would refuse, and then changes nothing."""
        record = self._read()
        record = replace(record, calls=record.calls + 1)
        injection = next((one for one in record.injections if one.hits(record.calls)), None)
        error = error_of(injection, device_text(step.device), timeout_s) if injection else None
        if injection is None or injection.kind in ("timeout_after", "wrong_uuid"):
            record = _after(record, step)
        if injection and injection.kind == "half_done" and isinstance(step, StartService | StartOnCores):
            record = _half(_after(record, step), step)
        self._write(record)
        if injection and injection.kind == "wrong_uuid":
            self._misread = injection
        if error:
            raise error

    def inject(self, *injections: Injection) -> None:
        """Tells the node to fail; `at` counts from the next call on."""
        record = self._read()
        later = tuple(replace(one, at=one.at + record.calls) for one in injections)
        self._write(replace(record, injections=(*record.injections, *later)))

    def attach(self, index: int, start: int | None, pid: int, name: str = "") -> None:
        """Lets a process that is not the agent's hold an instance, or a whole GPU."""
        gpu = self._gpu(index)
        self._put(index, replace(gpu, clients=(*gpu.clients, Client(pid, name, start))))

    def detach(self, index: int, pid: int) -> None:
        """Lets such a process end."""
        gpu = self._gpu(index)
        self._put(index, replace(gpu, clients=tuple(one for one in gpu.clients if one.pid != pid)))

    def reboot(self) -> None:
        """Ends every process and instance; from Hopper on, MIG mode too."""
        record = self._read()
        gpus = {index: rebooted(gpu) for index, gpu in record.gpus.items()}
        self._write(replace(record, gpus=gpus, cpus={index: LiveCpu(cpu.cores) for index, cpu in record.cpus.items()}))

    def _gpu(self, index: int) -> LiveGpu:
        return self._read().gpus[index]

    def _put(self, index: int, gpu: LiveGpu) -> None:
        record = self._read()
        self._write(replace(record, gpus={**record.gpus, index: gpu}))

    def _read(self) -> NodeRecord:
        return self._record

    def _write(self, record: NodeRecord) -> None:
        self._record = record


class SimulatedNodeFile(SimulatedNode):
    """A simulated node that lives in a file, and may be changed there by others between two calls."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._misread = None
        self._read()

    def _read(self) -> NodeRecord:
        try:
            return _adapter().validate_json(read_text(self._path))
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, item['loc']))} {item['msg']}".strip() for item in error.errors()[:3])
            message = f"is no simulated node ({wrong}); make one: sliceplan-agent simulate FILE --gpus TYPE:COUNT"
            raise InputError([Finding(str(self._path), "", message)]) from error

    def _write(self, record: NodeRecord) -> None:
        write_node(self._path, record)


def record_of(live: LiveNode, injections: tuple[Injection, ...] = ()) -> NodeRecord:
    """Returns a node that has these GPUs and CPUs, with all that is on them."""
    there = " ".join(sorted(instance_uuids(live).values()))
    cpus = {cpu_index(str(key)): cpu for key, cpu in cpus_of(live).items()}
    return NodeRecord(gpus_of(live), cpus, injections=injections, origin=str(uuid.uuid5(uuid.NAMESPACE_OID, there)))


def write_node(path: Path, record: NodeRecord) -> None:
    """Writes a simulated node to its file, in one piece."""
    write_durably(path, _adapter().dump_json(record, indent=1))


@cache
def _adapter() -> TypeAdapter[NodeRecord]:
    return TypeAdapter(NodeRecord)


def _after(record: NodeRecord, step: Step) -> NodeRecord:
    if isinstance(step, CoreStep):
        cpu = record.cpus.get(step.cpu_index)
        if cpu is None:
            raise DeviceError("NOT_FOUND", f"there is no CPU {step.cpu_index}")
        return replace(record, cpus={**record.cpus, step.cpu_index: carried_out_on_cores(cpu, step, record.calls)})
    gpu = record.gpus.get(step.gpu_index)
    if gpu is None:
        raise DeviceError("NOT_FOUND", f"there is no GPU {step.gpu_index}")
    return replace(record, gpus={**record.gpus, step.gpu_index: carried_out(gpu, step, record.calls, record.origin)})


def _half(record: NodeRecord, step: StartService | StartOnCores) -> NodeRecord:
    """Returns a node on which a service has been started, and has lost a process since."""
    if isinstance(step, StartOnCores):
        cpu = record.cpus[step.cpu_index]
        on_cores = tuple(
            replace(one, pids=one.pids[1:], healthy=False) if one.name == step.name else one for one in cpu.services
        )
        return replace(record, cpus={**record.cpus, step.cpu_index: replace(cpu, services=on_cores)})
    gpu = record.gpus[step.gpu_index]
    services = tuple(
        replace(one, pids=one.pids[1:], healthy=False) if one.service == step.service else one for one in gpu.services
    )
    return replace(record, gpus={**record.gpus, step.gpu_index: replace(gpu, services=services)})


def _sockets(state: NodeState) -> list[str]:
    """Returns the types of the CPUs of a node that has those of a state."""
    wanted = {cpu_index(str(key)): cpu.cpu for key, cpu in state.items() if isinstance(cpu, CpuState)}
    types = [""] * (max(wanted, default=-1) + 1)
    for index in reversed(range(len(types))):
        types[index] = wanted.get(index) or types[index + 1]
    return types


def _gpu_uuid(index: int, name: str) -> str:
    return f"GPU-{uuid.uuid5(uuid.NAMESPACE_OID, f'{name}/{index}')}"


def _with_a_wrong_uuid(gpus: dict[int, LiveGpu]) -> dict[int, LiveGpu]:
    """Returns a read-back in which the instance made last has a UUID that is not its own."""
    made = [(index, one) for index, gpu in gpus.items() for one in gpu.instances if one.uuid is not None]
    if not made:
        return gpus
    index, instance = made[-1]
    wrong = replace(instance, uuid="MIG-00000000-0000-0000-0000-000000000000")
    others = tuple(wrong if one is instance else one for one in gpus[index].instances)
    return {**gpus, index: replace(gpus[index], instances=others)}
