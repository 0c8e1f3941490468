"""From the agent's configuration to the device that it drives."""

from ..devices.device import Device
from ..devices.mps_daemons import DaemonDefaults, MpsDaemons
from ..services.host import ServiceHost
from ..system.other_managers import Trace, find_other_managers
from .configuration import AgentConfig


def device_of(config: AgentConfig) -> Device:
    """Returns the GPUs of this node, or the simulated ones that the configuration names."""
    if config.simulated_node is not None:
        from ..devices.simulated.node import SimulatedNodeFile

        return SimulatedNodeFile(config.simulated_node)
    from ..devices.nvml.node import NvmlNode

    return NvmlNode(mps_daemons_of(config), service_host_of(config))


def mps_daemons_of(config: AgentConfig) -> MpsDaemons:
    """Returns the MPS daemons of this node."""
    defaults = DaemonDefaults(config.mps.active_thread_percentage, config.mps.pinned_memory_mib)
    return MpsDaemons(config.run_dir / "mps", defaults)


def service_host_of(config: AgentConfig) -> ServiceHost:
    """Returns the services of this node."""
    return ServiceHost(config.template, config.run_dir, config.state_dir / "logs")


def other_managers_of(config: AgentConfig) -> list[Trace]:
    """
    Returns the traces of others who change this node's GPUs.

    A simulated node has none; those of the machine that it is simulated on are not its own.
    """
    if config.simulated_node is not None:
        return []
    from ..devices.nvml.reading import virtual_gpus

    guests = [Trace("vgpu-guest", f"GPU {index} is a virtual one, whose host decides") for index in virtual_gpus()]
    return [*find_other_managers(), *guests]
