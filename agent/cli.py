"""
The command line `sliceplan-agent`.

Exit codes: 0 done; 1 the node is not at the plan, and why; 2 the input is wrong.
"""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..solver.model.errors import Finding, InputError, SliceplanError
from .commands.changing import apply, rollback, run
from .commands.options import OF_THE_NODE, Device, State, taking
from .commands.simulating import happen, make
from .devices.simulated.node import SimulatedNode
from .files.durable_files import NotWrittenError
from .model.device_error import DeviceError
from .model.live import LiveNode
from .model.node import NodeState, unused
from .model.plain_processes import PlainProcesses, in_slices
from .model.plan_files import node_share, read_plan
from .saying import hold_standard_descriptors, lead_nowhere, say_error
from .setup.opening import Words, open_agent
from .setup.plain_processes import plain_processes_of
from .showing.terminal import transition_data, transition_text
from .transition.applied import read_applied
from .transition.preflight import NodeTransition, plan_transition
from .transition.step_executor import StepFailedError, read_state

app = typer.Typer(
    name="sliceplan-agent",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Runs the command line; every expected error ends in a message and an exit code."""
    hold_standard_descriptors()
    try:
        try:
            app()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except (DeviceError, StepFailedError, NotWrittenError) as error:
        _end_with(error, 1)
    except SliceplanError as error:
        _end_with(error, 2)
    except BrokenPipeError:
        lead_nowhere(sys.stdout)
        sys.exit(0)
    except OSError as error:
        lead_nowhere(sys.stdout)
        _end_with(f"{error.filename or 'the output'} cannot be used: {error.strerror or error}", 1)


def _end_with(error: object, code: int) -> None:
    say_error(error)
    sys.exit(code)


@app.command()
def plan(
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="Plan file, assigned to nodes.")],
    node: Annotated[str, typer.Option(help="Name of the node.", envvar="SLICEPLAN_NODE")],
    current: Annotated[
        Path | None, typer.Option(help="Plan that runs on the node now; default: MIG is off, nothing runs.")
    ] = None,
    device: Device = None,
    state: State = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the steps as JSON.")] = False,
) -> None:
    """Show the steps that bring a node to its plan, tried on a simulated node. Changes nothing."""
    desired = node_share(read_plan(plan_file), node, str(plan_file))
    plain: PlainProcesses = in_slices
    if device and not current:
        agent = open_agent(Words(device=device, state=state))
        transition = plan_transition(read_state(agent.session), desired, read_applied(agent.session.folder))
        plain = plain_processes_of(agent.config, transition.live)
    else:
        transition = _from_plan(desired, node_share(read_plan(current), node, str(current)) if current else {}, current)
    if as_json:
        print(json.dumps(transition_data(node, transition, plain), indent=1))
    else:
        for line in transition_text(node, transition, plain):
            print(line)
        print("Dry run: nothing was changed.")
    raise typer.Exit(1 if transition.impossible else 0)


@app.command()
def simulate(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="File of the simulated node.")],
    gpus: Annotated[
        list[str] | None, typer.Option("--gpus", metavar="TYPE:COUNT", help="Make it, with these GPUs.")
    ] = None,
    cpus: Annotated[
        list[str] | None, typer.Option("--cpus", metavar="TYPE:COUNT", help="Make it, with these CPUs.")
    ] = None,
    reboot: Annotated[bool, typer.Option("--reboot", help="Reboot it.")] = False,
    busy: Annotated[
        list[str] | None, typer.Option("--busy", metavar="PID@GPU:START", help="A process of others holds that.")
    ] = None,
    fail: Annotated[
        list[str] | None, typer.Option("--fail", metavar="KIND@CALL", help="That call from now on will fail.")
    ] = None,
) -> None:
    """Make a node without hardware, for --device simulated:FILE, and let things happen to it."""
    if gpus or cpus:
        make(path, gpus or [], cpus or [])
    happen(path, reboot, busy or [], fail or [])


def _from_plan(desired: NodeState, running: NodeState, source: Path | None) -> NodeTransition:
    """Returns the transition of a node that runs a plan, or nothing; GPUs that only that plan has are freed."""
    wanted = {index: desired.get(index, unused(gpu)) for index, gpu in {**running, **desired}.items()}
    try:
        live: LiveNode = SimulatedNode.in_state(
            {index: running.get(index, unused(gpu)) for index, gpu in wanted.items()}
        ).state()
    except DeviceError as error:
        raise InputError([Finding(str(source), "", f"cannot run on any node: {error}")]) from error
    return plan_transition(live, wanted)


@app.command()
@taking(OF_THE_NODE)
def status(
    words: Words,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
    catalogue: Annotated[
        bool, typer.Option("--catalogue", help="Compare the driver's MIG profiles with the catalogue instead.")
    ] = False,
) -> None:
    """Show GPUs, CPUs, instances, processes, MPS daemons and services of this node, and who else changes them."""
    from .commands.status import show_catalogue, show_status

    raise typer.Exit(show_catalogue() if catalogue else show_status(words, as_json))


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


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"sliceplan-agent {version('sliceplan')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Brings the GPUs and CPUs of a node to their share of a plan."""


app.command()(apply)
app.command()(rollback)
app.command()(run)


if __name__ == "__main__":
    main()
