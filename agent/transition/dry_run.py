"""Proof that steps reach the planned state: they are carried out on a simulated node, which is then read back."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...solver.model.catalogue import load_catalogue
from ..devices.simulated.node import AT_ONCE_S, SimulatedNode
from ..model.device_error import DeviceError
from ..model.differences import differences
from ..model.live import LiveNode
from ..model.node import NodeState, gpu_states, mode_change_needs_reset
from ..model.steps import Step, steps_between


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
    return [index for index, state in gpu_states(node).items() if mode_change_needs_reset(load_catalogue()[state.gpu])]


def dry_run(live: LiveNode, desired: NodeState) -> DryRun:
    """Plans the steps from what a node has to what is wanted, and carries them out on a simulated copy of it."""
    steps = steps_between(live, desired, resets_needed(desired))
    node = SimulatedNode(live)
    for number, step in enumerate(steps, 1):
        try:
            node.apply(step, AT_ONCE_S)
        except DeviceError as error:
            return DryRun(steps, f"step {number}: {error}", ())
    return DryRun(steps, None, tuple(differences(node.state(), desired)))
