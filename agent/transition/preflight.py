"""
A transition before it begins: what was there, what is wanted, the steps, and what speaks against them.

An agent looks after the GPUs and CPUs of its plan and of the plan that it applied last: those that only the last one
had are freed. GPUs and CPUs of neither are somebody else's and are left alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...solver.model.catalogue import load_cpus
from ...solver.model.host_cores import COMMAND, unlike
from ..model.core_services import CpuState
from ..model.core_steps import CoreStep
from ..model.device_key import device_order, device_text
from ..model.live import Client, LiveCpu, LiveGpu, LiveNode, cpus_of, gpus_of, settled
from ..model.node import NodeState, unused
from ..model.steps import DestroyComputeInstance, DestroyInstance, ResetGpu, SetMigMode, Step, interrupts_gpu
from .applied import Applied
from .dry_run import dry_run


@dataclass(frozen=True)
class NodeTransition:
    """The way from what a node has to what is wanted of it."""

    live: LiveNode
    old: NodeState
    """What is usable now, of the GPUs and CPUs that are wanted; going back leads here."""
    new: NodeState
    steps: Sequence[Step]
    busy: tuple[str, ...]
    """What the steps need idle and others use, with their process ids."""
    impossible: tuple[str, ...]
    """Why the steps cannot reach the new state, by the catalogue and the driver's rules."""

    @property
    def interrupted_gpus(self) -> list[int]:
        """GPUs whose MIG mode changes or that are reset."""
        return sorted({step.gpu_index for step in self.steps if interrupts_gpu(step)})

    @property
    def reset_gpus(self) -> list[int]:
        """GPUs that are reset."""
        return sorted({step.gpu_index for step in self.steps if isinstance(step, ResetGpu)})


def plan_transition(live: LiveNode, desired: NodeState, applied: Applied | None = None) -> NodeTransition:
    """Returns the transition to the desired state, with all that the agent looks after."""
    freed = {
        index: unused(state)
        for index, state in (applied.state if applied else {}).items()
        if index not in desired and index in live
    }
    together = {**freed, **desired}
    wanted = {key: together[key] for key in sorted(together, key=device_order)}
    if unknown := tuple(_wrong_devices(live, wanted)):
        return NodeTransition(live, {}, wanted, (), (), unknown)
    own = {index: live[index] for index in wanted}
    # Whether others leave in time is not a question of the rules.
    tried = dry_run(
        {key: replace(one, clients=()) if isinstance(one, LiveGpu) else one for key, one in own.items()}, wanted
    )
    impossible = (*([tried.refused] if tried.refused else []), *tried.differences)
    busy = tuple(dict.fromkeys(text for step in tried.steps for text in _busy(step, live)))
    return NodeTransition(live, settled(own, wanted), wanted, tried.steps, busy, impossible)


def clients_in_the_way(step: Step, live: LiveNode) -> list[Client]:
    """Returns the processes of others that hold what a step needs idle."""
    gpu = live[step.device]
    clients = gpu.clients if isinstance(gpu, LiveGpu) else ()
    if isinstance(step, SetMigMode | ResetGpu):
        return list(clients)
    if isinstance(step, DestroyComputeInstance | DestroyInstance):
        return [client for client in clients if client.start == step.start]
    return []


def names_of(clients: Sequence[Client]) -> str:
    """Returns process ids with names, as a person reads them."""
    return ", ".join(f"pid {one.pid} ({one.name})" if one.name else f"pid {one.pid}" for one in clients)


def _busy(step: Step, live: LiveNode) -> Iterator[str]:
    if not isinstance(step, CoreStep) and (clients := clients_in_the_way(step, live)):
        what = f"{step.profile} at {step.start}" if isinstance(step, DestroyComputeInstance | DestroyInstance) else "it"
        yield f"GPU {step.gpu_index}: {what} is in use by {names_of(clients)}"


def _wrong_devices(live: LiveNode, wanted: NodeState) -> Iterator[str]:
    gpus, cpus = gpus_of(live), cpus_of(live)
    for key, state in wanted.items():
        found = live.get(key)
        if isinstance(state, CpuState):
            yield from _wrong_cpu(device_text(key), found, state, len(cpus))
        elif not isinstance(found, LiveGpu):
            yield f"{device_text(key)} is not on this node; it has GPU {', '.join(map(str, sorted(gpus))) or 'none'}"
        elif found.gpu != state.gpu:
            yield f"{device_text(key)} is a {found.gpu}; the plan is for a {state.gpu}"


def _wrong_cpu(name: str, found: LiveGpu | LiveCpu | None, wanted: CpuState, count: int) -> Iterator[str]:
    """Yields in what a CPU of the node is not the one of the plan."""
    if isinstance(found, LiveCpu):
        yield from (f"{name} {text}, by `{COMMAND}`" for text in unlike(found.cores, load_cpus()[wanted.cpu]))
    elif count:
        yield f"{name} ({wanted.cpu}) is not on this node; `{COMMAND}` shows {count} CPU{'s' * (count != 1)} here"
    else:
        yield (
            f"{name} ({wanted.cpu}) is not this agent's; to let it divide CPUs, set `device: nvml+cores` in its "
            "configuration, or `cores` on a node without GPUs"
        )
