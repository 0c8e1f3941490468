"""Proof that steps reach the planned state: they are carried out on a simulated node, which is then read back."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..solver.model.catalogue import load_catalogue
from .devices.device import DeviceError
from .devices.simulated import SimulatedNode
from .node import NodeState, Share, mode_change_needs_reset, service_name, unused
from .steps import Step, steps_between


@dataclass(frozen=True)
class DryRun:
    """The steps for a node, and what the simulated node made of them."""

    steps: Sequence[Step]
    refused: str | None
    """The step that the node refused and why; None: it refused none."""
    differences: tuple[str, ...]
    """Where the state read back differs from the planned one."""

    @property
    def reached(self) -> bool:
        """Whether the steps reach exactly the planned state."""
        return self.refused is None and not self.differences


def resets_needed(node: NodeState) -> list[int]:
    """Returns the GPUs of which a change of MIG mode takes a reset."""
    return [index for index, state in node.items() if mode_change_needs_reset(load_catalogue()[state.gpu])]


def dry_run(current: NodeState, desired: NodeState) -> DryRun:
    """Plans the steps from one state to another and carries them out on a simulated node."""
    steps = steps_between(current, desired, resets_needed(current))
    try:
        node = SimulatedNode.in_state(current)
    except DeviceError as error:
        return DryRun(steps, f"the current state cannot be: {error}", ())
    for number, step in enumerate(steps, 1):
        try:
            node.apply(step)
        except DeviceError as error:
            return DryRun(steps, f"step {number}: {error}", ())
    wanted = {index: desired.get(index, unused(state)) for index, state in current.items()}
    # A daemon without clients is no part of a state.
    idle = node.mps_gpus() - {index for index, state in wanted.items() if state.shares}
    left_over = [f"GPU {index}: an MPS daemon is left over" for index in sorted(idle)]
    return DryRun(steps, None, (*_differences(node.state(), wanted), *left_over))


def _differences(found: NodeState, wanted: NodeState) -> list[str]:
    differences = []
    for index, state in wanted.items():
        is_there = {(one.start, one.profile, one.processes) for one in found[index].instances}
        should_be = {(one.start, one.profile, one.processes) for one in state.instances}
        if found[index].mig_enabled != state.mig_enabled:
            differences.append(f"GPU {index}: MIG mode is {'on' if found[index].mig_enabled else 'off'}")
        differences += [f"GPU {index}: {p} at {s} is missing" for s, p, _ in sorted(should_be - is_there)]
        differences += [f"GPU {index}: {p} at {s} is left over" for s, p, _ in sorted(is_there - should_be)]
        differences += [f"GPU {index}: {_text(one)} is missing" for one in sorted(state.shares - found[index].shares)]
        differences += [f"GPU {index}: {_text(one)} is left over" for one in sorted(found[index].shares - state.shares)]
    return differences


def _text(share: Share) -> str:
    return f"{service_name(share)} at {share.sm_percent:g} %"
