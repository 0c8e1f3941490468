"""Which services on cores are plain processes, by what runs and what the configuration says of what is to start."""

from ..model.core_steps import CoreStep, StartOnCores
from ..model.live import LiveCpu, LiveNode
from ..model.plain_processes import PlainProcesses
from .configuration import AgentConfig


def plain_processes_of(config: AgentConfig, live: LiveNode) -> PlainProcesses:
    """
    Returns what tells of each step whether its service is plain processes.

    One that starts is what its template says; one that runs is what it was started as. A simulated node starts nothing,
    so there the template counts for both.
    """

    def command(step: CoreStep) -> tuple[str, ...] | None:
        template = config.template(step.service.workload)
        if isinstance(step, StartOnCores) or config.simulated_node is not None:
            return template.command if template is not None and template.runner == "process" else None
        cpu = live[step.device]
        running = cpu.running(step.name) if isinstance(cpu, LiveCpu) else None
        by_affinity = running is not None and running.by_affinity
        return (template.command if template else ()) if by_affinity else None

    return command
