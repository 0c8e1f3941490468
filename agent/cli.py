"""
The command line `sliceplan-agent`.

Exit codes: 0 done; 1 the steps do not reach the plan; 2 the input is wrong.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from textwrap import indent
from typing import Annotated

import typer

from ..solver.model.errors import Finding, InputError, SliceplanError
from .commands import MPS_NOTES, commands_of, describe
from .devices.device import DeviceError
from .devices.simulated.node import SimulatedNode
from .dry_run import DryRun, dry_run
from .live import LiveNode, settled
from .node import NodeState, unused
from .plan_files import node_share, read_plan
from .steps import Step, interrupts_gpu

app = typer.Typer(
    name="sliceplan-agent",
    help="Brings the GPUs of a node to their share of a plan.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Runs the command line; every expected error ends in a message and an exit code."""
    try:
        app()
    except SliceplanError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


@app.command()
def plan(
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="Plan file, assigned to nodes.")],
    node: Annotated[str, typer.Option(help="Name of the node.")],
    current: Annotated[
        Path | None, typer.Option(help="Plan that runs on the node now; default: MIG is off, nothing runs.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the steps as JSON.")] = False,
) -> None:
    """Show the steps that bring a node to its plan, tried on a simulated node. Changes nothing."""
    desired = node_share(read_plan(plan_file), node, str(plan_file))
    running = node_share(read_plan(current), node, str(current)) if current else {}
    wanted = {index: desired.get(index, unused(state)) for index, state in {**running, **desired}.items()}
    try:
        live = SimulatedNode.in_state(
            {index: running.get(index, unused(state)) for index, state in wanted.items()}
        ).state()
    except DeviceError as error:
        raise InputError([Finding(str(current), node, f"cannot run on any node: {error}")]) from error
    tried = dry_run(live, wanted)
    if as_json:
        print(json.dumps(_as_data(node, tried, wanted), indent=1))
    else:
        _print_steps(node, tried, live, wanted)
    raise typer.Exit(0 if tried.reached else 1)


@app.command()
def keygen(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="KEYFILE", help="Private key to write.")],
) -> None:
    """Make a pair of keys: KEYFILE signs plans, KEYFILE.pub is for the nodes that shall trust them."""
    from .trust.keys import generate

    public, name = generate(output)
    print(f"{output}: private key; keep it where plans are signed, and on no node")
    print(f"{public}: public key; copy it to the folder `trusted_keys` of each node")
    print(f"key id {name}")


def _print_steps(node: str, tried: DryRun, live: LiveNode, desired: NodeState) -> None:
    print(_summary(node, live, desired))
    if disruptive := sorted({step.gpu_index for step in tried.steps if interrupts_gpu(step)}):
        print(f"! MIG mode changes on GPU {', '.join(map(str, disruptive))}: stop everything that runs there first.")
    if any(state.mps_starts for state in desired.values()):
        print("\n".join(MPS_NOTES))
    print()
    for number, step in enumerate(tried.steps, 1):
        mark = "!" if interrupts_gpu(step) else " "
        print(f"{mark}{number:3}. GPU {step.gpu_index}: {describe(step)}")
        for command in commands_of(step, desired):
            print(indent(command, "       "))
    print()
    print("`gi`, `uuid` and `gpu_uuid` read ids on the node; `sliceplan export --format commands` has them.")
    if tried.reached:
        print(f"Simulated node: {len(tried.steps)} steps reach exactly the planned state.")
    else:
        for difference in tried.differences:
            print(f"Simulated node: {difference}")
        if tried.refused:
            print(f"Simulated node refused {tried.refused}")
    print("Dry run: nothing was changed.")


def _summary(node: str, live: LiveNode, desired: NodeState) -> str:
    """Returns how much is wanted and how much of it is there already."""
    there = settled(live)
    instances = [(index, one) for index, state in desired.items() for one in state.instances]
    services = [(index, one) for index, state in desired.items() for one in state.services]
    kept = sum(one in there[index].instances for index, one in instances)
    kept += sum(one in there[index].services for index, one in services)
    counts = [_count(len(instances), "MIG instance")] if instances else []
    counts += [_count(len(services), "service")]
    return f"Node {node}: {' and '.join(counts)} on {_count(len(desired), 'GPU')}; {kept} of them there already."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _as_data(node: str, tried: DryRun, desired: NodeState) -> dict[str, object]:
    return {
        "version": 1,
        "node": node,
        "steps": [_step_as_data(step, desired) for step in tried.steps],
        "reached": tried.reached,
        "refused": tried.refused,
        "differences": list(tried.differences),
    }


def _step_as_data(step: Step, desired: NodeState) -> dict[str, object]:
    return {
        "kind": type(step).__name__,
        **asdict(step),
        "interrupts_gpu": interrupts_gpu(step),
        "commands": commands_of(step, desired),
    }


if __name__ == "__main__":
    main()
