"""What a person is shown of a transition before it begins: what goes and comes, what is risky, the exact commands."""

from collections.abc import Iterator
from dataclasses import asdict
from textwrap import indent
from typing import Any

from ...solver.model.words import counted, counted_boards
from ..model.core_services import CpuState
from ..model.core_steps import CoreStep
from ..model.device_key import device_order, device_text
from ..model.live import settled
from ..model.node import gpu_states
from ..model.plain_processes import PlainProcesses, in_slices
from ..model.step_text import step_text
from ..model.steps import GpuStep, Step, interrupts_gpu
from ..transition.preflight import NodeTransition
from .commands import MPS_NOTES, TURN_NOTES, commands_of
from .core_commands import AFFINITY_NOTES, CORE_NOTES


def transition_text(node: str, transition: NodeTransition, plain: PlainProcesses = in_slices) -> Iterator[str]:
    """
    Yields the lines that show a transition: the summary, resets and mode changes first, then every step.

    Parameters
    ----------
    plain
        Which services on cores are plain processes.
    """
    yield from _summary(node, transition)
    yield from _warnings(transition)
    if any(isinstance(step, CoreStep) and plain(step) is not None for step in transition.steps):
        yield from AFFINITY_NOTES
    yield ""
    for number, step in enumerate(transition.steps, 1):
        mark = "!" if interrupts_gpu(step) else " "
        yield f"{mark}{number:3}. {step_text(step)}"
        for command in commands_of(step, transition.new, plain):
            yield indent(command, "       ")
    if transition.steps:
        yield ""
        if any(isinstance(step, GpuStep) for step in transition.steps):
            yield "`gi`, `uuid` and `gpu_uuid` read ids on the node; they are in what"
            yield "`sliceplan export --format commands` writes."
    if transition.impossible:
        yield from (f"Not possible: {reason}" for reason in transition.impossible)
    elif transition.steps:
        yield "Tried on a simulated node: the steps reach exactly the planned state."
    else:
        yield "The node has the planned state already; there is nothing to do."


def transition_data(node: str, transition: NodeTransition, plain: PlainProcesses = in_slices) -> dict[str, Any]:
    """Returns the same for machines."""
    return {
        "version": 1,
        "node": node,
        "steps": [_step_data(step, transition, plain) for step in transition.steps],
        "reached": not transition.impossible,
        "impossible": list(transition.impossible),
        "busy": list(transition.busy),
        "interrupted_gpus": transition.interrupted_gpus,
        "reset_gpus": transition.reset_gpus,
    }


def _summary(node: str, transition: NodeTransition) -> Iterator[str]:
    """Yields how much is wanted and how much of it is there already."""
    wanted = transition.new
    there = settled({key: one for key, one in transition.live.items() if key in wanted}, wanted)
    gpus, gpus_there = gpu_states(wanted), gpu_states(there)
    instances = [(index, one) for index, state in gpus.items() for one in state.instances]
    services = [(key, one) for key, state in wanted.items() for one in state.services]
    kept_instances = sum(index in gpus_there and one in gpus_there[index].instances for index, one in instances)
    kept_services = sum(key in there and one in there[key].services for key, one in services)
    cpus = len(wanted) - len(gpus)
    yield f"Node {node}: {_counts(len(instances), len(services))} on {counted_boards(len(gpus), cpus)}."
    if kept_instances or kept_services:
        yield f"There already: {_counts(kept_instances, kept_services)}."


def _counts(instances: int, services: int) -> str:
    counts = [counted(instances, "MIG instance")] if instances else []
    return " and ".join([*counts, counted(services, "service")])


def _warnings(transition: NodeTransition) -> Iterator[str]:
    if disruptive := transition.interrupted_gpus:
        yield f"! MIG mode changes on GPU {_listed(disruptive)}: stop everything that runs there first."
    if reset := transition.reset_gpus:
        yield f"! Reset of GPU {_listed(reset)}: every process there must have ended."
    for text in transition.busy:
        yield f"! {text}"
    left = [key for key in transition.live if key not in transition.new]
    if gpus := sorted(key for key in left if isinstance(key, int)):
        yield f"GPU {_listed(gpus)}: in no plan, left alone."
    if cpus := sorted((key for key in left if isinstance(key, str)), key=device_order):
        yield f"{', '.join(map(device_text, cpus))}: in no plan, left alone."
    of_gpus = [service for state in gpu_states(transition.new).values() for service in state.services]
    if any(service.sm_percent is not None for service in of_gpus):
        yield from MPS_NOTES
    if any(service.round is not None for service in of_gpus):
        yield from TURN_NOTES
    if any(isinstance(state, CpuState) and state.services for state in transition.new.values()):
        yield from CORE_NOTES


def _listed(indices: list[int]) -> str:
    return ", ".join(map(str, indices))


def _step_data(step: Step, transition: NodeTransition, plain: PlainProcesses) -> dict[str, Any]:
    return {
        "kind": type(step).__name__,
        **asdict(step),
        "interrupts_gpu": interrupts_gpu(step),
        "commands": commands_of(step, transition.new, plain),
    }
