"""
What each step makes of a CPU, and when it is refused: cores that another service has, settings that only a start takes.

A simulated CPU numbers its logical CPUs as Linux mostly does: second threads of all cores of the node last.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from ....solver.model.catalogue import load_cpus
from ....solver.model.host_cores import HostCore
from ...model.core_services import CoreService, core_text, logical_cpus, memory_nodes
from ...model.core_steps import MoveToCores, OnCpu, StartOnCores, StopOnCores
from ...model.device_error import DeviceError
from ...model.live import LiveCpu, RunningOnCores


def simulated_cpus(types: list[str]) -> dict[int, LiveCpu]:
    """Returns CPUs of the catalogue, in a node's order, with nothing on them."""
    facts = [load_cpus()[name] for name in types]
    total = sum(cpu.core_count for cpu in facts)
    numbers, domains, nodes = count(), count(), count()
    made = {}
    for socket, cpu in enumerate(facts):
        threads = range(int(cpu.threads_per_core.value))
        cores: list[HostCore] = []
        for core in range(cpu.core_count):
            node = next(nodes) if core % cpu.node_cores == 0 else cores[-1].node
            domain = next(domains) if core % cpu.domain_cores == 0 else cores[-1].l3
            number = next(numbers)
            cores.append(HostCore(socket, node, domain, tuple(number + thread * total for thread in threads)))
        made[socket] = LiveCpu(tuple(cores))
    return made


def carried_out_on_cores(cpu: LiveCpu, step: OnCpu, serial: int) -> LiveCpu:
    """
    Returns what a step makes of its CPU.

    Parameters
    ----------
    serial
        A number that no other step of the node has; process ids come from it.

    Raises
    ------
    DeviceError
        Where the step would give a core twice, or is about a service that does not run, or runs already.
    """
    found = cpu.running(step.name)
    place = f"CPU {step.cpu_index}: {step.service.workload} on {core_text(step.service)}"
    if isinstance(step, StartOnCores):
        if found is not None:
            raise DeviceError("IN_USE", f"{place} runs already", found.pids)
        _refuse_taken(cpu, step, place)
        pids = tuple(1000 + 100 * serial + number for number in range(step.service.processes))
        return replace(cpu, services=(*cpu.services, RunningOnCores(step.name, step.service, pids)))
    if found is None:
        raise DeviceError("NOT_FOUND", f"{place} does not run")
    if isinstance(step, MoveToCores):
        if found.service.kind != step.service.kind:
            raise DeviceError("INVALID_ARGUMENT", f"{place} runs with other settings, which only a start takes over")
        _refuse_taken(cpu, step, place)
        return _exchanged(cpu, found, replace(found, service=step.service, found_on=None))
    return _exchanged(cpu, found, None) if isinstance(step, StopOnCores) else cpu


def _refuse_taken(cpu: LiveCpu, step: StartOnCores | MoveToCores, place: str) -> None:
    if step.service.held.stop > len(cpu.cores):
        raise DeviceError("INVALID_ARGUMENT", f"{place} is beyond its {len(cpu.cores)} cores")
    if (step.cpus, step.memory_nodes) != (logical_cpus(cpu.cores, step.service), memory_nodes(cpu.cores, step.service)):
        raise DeviceError("INVALID_ARGUMENT", f"{place} is not CPUs {step.cpus} with memory {step.memory_nodes}")
    for other in _others_on(cpu, step.name, step.service):
        raise DeviceError("IN_USE", f"{place}: {other.service.workload} has one of them", other.pids)


def _others_on(cpu: LiveCpu, name: str, service: CoreService) -> Iterator[RunningOnCores]:
    """Yields who else has one of a service's cores."""
    for other in cpu.services:
        if other.name != name and not set(other.service.held).isdisjoint(service.held):
            yield other


def _exchanged(cpu: LiveCpu, old: RunningOnCores, new: RunningOnCores | None) -> LiveCpu:
    services = (new if one is old else one for one in cpu.services)
    return replace(cpu, services=tuple(one for one in services if one is not None))
