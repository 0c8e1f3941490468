"""From the agent's configuration to the device that it drives."""

from collections.abc import Iterable

from ..devices.cores import BothKinds, CoreNode
from ..devices.device import Device
from ..devices.mps_daemons import DaemonDefaults, MpsDaemons
from ..model.core_steps import StartOnCores
from ..model.plain_processes import PlainProcesses
from ..model.steps import Step
from ..services.core_host import CoreHost
from ..services.host import ServiceHost
from ..system.core_slices import CoreSlices
from ..system.other_managers import Trace, cpu_managers, find_other_managers
from .configuration import AgentConfig


def device_of(config: AgentConfig) -> Device:
    """Returns the GPUs and CPUs of this node that are the agent's, or the simulated ones of the configuration."""
    if config.simulated_node is not None:
        from ..devices.simulated.node import SimulatedNodeFile

        return SimulatedNodeFile(config.simulated_node)
    slices = CoreSlices()
    plain = any(template.runner == "process" for template in config.services.values())
    cpus = CoreNode(slices, core_host_of(config, slices), needs_slices=not plain)
    if config.device == "cores":
        return cpus
    from ..devices.nvml.node import NvmlNode

    gpus = NvmlNode(mps_daemons_of(config), service_host_of(config))
    return BothKinds(gpus, cpus) if config.divides_cpus else gpus


def refuse_slices_without_cpusets(config: AgentConfig, steps: Iterable[Step], plain: PlainProcesses) -> None:
    """Raises DeviceError if a service is to start in a slice, and the node has no cpusets."""
    starts = (step for step in steps if isinstance(step, StartOnCores))
    if config.simulated_node is None and any(plain(step) is None for step in starts):
        CoreSlices().refuse_without_cpusets()


def mps_daemons_of(config: AgentConfig) -> MpsDaemons:
    """Returns the MPS daemons of this node."""
    defaults = DaemonDefaults(config.mps.active_thread_percentage, config.mps.pinned_memory_mib)
    return MpsDaemons(config.run_dir / "mps", defaults)


def service_host_of(config: AgentConfig) -> ServiceHost:
    """Returns the services of this node."""
    beside = core_host_of(config, CoreSlices()).processes
    return ServiceHost(config.template, config.run_dir, config.state_dir / "logs", beside)


def core_host_of(config: AgentConfig, slices: CoreSlices) -> CoreHost:
    """Returns the services on cores of this node."""
    return CoreHost(config.template, slices, config.run_dir, config.state_dir / "logs")


def other_managers_of(config: AgentConfig) -> list[Trace]:
    """
    Returns the traces of others who change this node's GPUs, or its CPUs where those are the agent's.

    A simulated node has none; those of the machine that it is simulated on are not its own.
    """
    if config.simulated_node is not None:
        return []
    of_cpus = cpu_managers() if config.divides_cpus else []
    if config.device == "cores":
        return of_cpus
    from ..devices.nvml.reading import virtual_gpus

    guests = [Trace("vgpu-guest", f"GPU {index} is a virtual one, whose host decides") for index in virtual_gpus()]
    return [*find_other_managers(), *guests, *of_cpus]
