"""A plan as one shell script a node, for people who apply it themselves."""

from ...solver.model.errors import Finding, InputError
from ...solver.model.labels import label_line
from ...solver.model.plan import Plan
from ...solver.model.words import counted
from ..devices.simulated.node import SimulatedNode
from ..model.node import gpu_states
from ..model.plan_files import node_share
from ..model.step_text import step_text
from ..transition.dry_run import dry_run
from .commands import ENVIRONMENT_NOTES, FUNCTIONS, MPS_NOTES, TURN_NOTES, commands_of

HEADER = """#!/bin/sh
# {title}
# For a node whose GPUs have MIG off and run nothing. Not tried on hardware; tried on a simulated node only.
# Read it before you run it. As root: sh -eu FILE
set -eu
{functions}"""


CORES_ELSEWHERE = (
    "has CPUs, of which a script cannot know how the node numbers their cores; for these take --format systemd-cores "
    "or docker-cores, or let the agent divide them"
)
"""Why a plan with CPUs has no script."""


def node_scripts(plan: Plan, source: str) -> dict[str, str]:
    """
    Returns the script of each node of a plan.

    Raises
    ------
    InputError
        If the plan is not assigned to nodes, or a node cannot reach its state.
    """
    nodes = sorted({gpu.node for gpu in plan.gpus if gpu.node is not None}) or ["NODE"]
    return {node: node_script(plan, node, source) for node in nodes}


def node_script(plan: Plan, node: str, source: str) -> str:
    """Returns the script that brings an unused node to its share of a plan; raises InputError as `node_scripts`."""
    desired = node_share(plan, node, source)
    gpus = gpu_states(desired)
    if len(gpus) < len(desired):
        raise InputError([Finding(source, node, CORES_ELSEWHERE)])
    unused = SimulatedNode.unused({index: state.gpu for index, state in gpus.items()})
    tried = dry_run(unused.state(), desired)
    if not tried.reached:
        raise InputError([Finding(source, node, tried.refused or "; ".join(tried.differences))])
    title = f"Plan {plan.problem.name} of sliceplan, node {node}: {counted(len(desired), 'GPU')}"
    lines = [HEADER.format(title=title, functions=FUNCTIONS)]
    capped = any(service.sm_percent is not None for state in gpus.values() for service in state.services)
    turns = any(service.round is not None for state in gpus.values() for service in state.services)
    notes = (*(MPS_NOTES if capped else ()), *(TURN_NOTES if turns else ()), *ENVIRONMENT_NOTES)
    lines += [f"# {note}" for note in notes]
    names = dict.fromkeys(service.workload for state in gpus.values() for service in state.services)
    lines += [line for name in names for line in label_line(plan.labels, name)]
    for step in tried.steps:
        if commands := commands_of(step, desired):
            lines += [f"# {step_text(step)}", *commands]
    return "\n".join(lines) + "\n"
