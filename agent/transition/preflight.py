"""
A transition before it begins: what was there, what is wanted, the steps, and what speaks against them.

An agent looks after the GPUs of its plan and of the plan that it applied last: those that only the last one had are
freed. GPUs of neither are somebody else's and are left alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..model.live import Client, LiveNode, settled
from ..model.node import NodeState, unused
from ..model.steps import DestroyComputeInstance, DestroyInstance, ResetGpu, SetMigMode, Step, interrupts_gpu
from .applied import Applied
from .dry_run import dry_run


@dataclass(frozen=True)
class NodeTransition:
    """The way from what a node has to what is wanted of it."""

    live: LiveNode
    old: NodeState
    """What is usable now, of the GPUs that are wanted; going back leads here."""
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
    """Returns the transition to the desired state, with all GPUs that the agent looks after."""
    freed = {
        index: unused(state)
        for index, state in (applied.state if applied else {}).items()
        if index not in desired and index in live
    }
    wanted = dict(sorted({**freed, **desired}.items()))
    if unknown := tuple(_wrong_gpus(live, wanted)):
        return NodeTransition(live, {}, wanted, (), (), unknown)
    own = {index: live[index] for index in wanted}
    # Whether others leave in time is not a question of the rules.
    tried = dry_run({index: replace(gpu, clients=()) for index, gpu in own.items()}, wanted)
    impossible = (*([tried.refused] if tried.refused else []), *tried.differences)
    busy = tuple(dict.fromkeys(text for step in tried.steps for text in _busy(step, live)))
    return NodeTransition(live, settled(own), wanted, tried.steps, busy, impossible)


def clients_in_the_way(step: Step, live: LiveNode) -> list[Client]:
    """Returns the processes of others that hold what a step needs idle."""
    clients = live[step.gpu_index].clients
    if isinstance(step, SetMigMode | ResetGpu):
        return list(clients)
    if isinstance(step, DestroyComputeInstance | DestroyInstance):
        return [client for client in clients if client.start == step.start]
    return []


def names_of(clients: Sequence[Client]) -> str:
    """Returns process ids with names, as a person reads them."""
    return ", ".join(f"pid {one.pid} ({one.name})" if one.name else f"pid {one.pid}" for one in clients)


def _busy(step: Step, live: LiveNode) -> Iterator[str]:
    if clients := clients_in_the_way(step, live):
        what = f"{step.profile} at {step.start}" if isinstance(step, DestroyComputeInstance | DestroyInstance) else "it"
        yield f"GPU {step.gpu_index}: {what} is in use by {names_of(clients)}"


def _wrong_gpus(live: LiveNode, wanted: NodeState) -> Iterator[str]:
    for index, state in sorted(wanted.items()):
        if index not in live:
            there = ", ".join(map(str, sorted(live))) or "none"
            yield f"GPU {index} is not on this node; it has GPU {there}"
        elif live[index].gpu != state.gpu:
            yield f"GPU {index} is a {live[index].gpu}; the plan is for a {state.gpu}"
