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
from .applied import Applied, read_applied
from .applying import Outcome, apply_transition, discard, resume, undo
from .carrying_out import StepFailedError, read_state
from .checkpoint import read_checkpoint
from .desired import Desired, desired_of
from .devices.device import DeviceError
from .devices.simulated.node import SimulatedNode
from .journal import unfinished
from .keeping import Rules, keep, note_plan
from .live import LiveNode
from .lock import locked
from .node import NodeState, unused
from .opening import open_device, stoppable
from .plan_files import node_share, read_plan
from .session import Patience, Session
from .simulating import happen, make
from .state_folder import StateFolder
from .terminal import transition_data, transition_text
from .transition import Transition, plan_transition

app = typer.Typer(
    name="sliceplan-agent",
    help="Brings the GPUs of a node to their share of a plan.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="Plan file, assigned to nodes.")]
Node = Annotated[str, typer.Option(help="Name of the node.", envvar="SLICEPLAN_NODE")]
DeviceName = Annotated[str, typer.Option("--device", help="simulated:FILE.", envvar="SLICEPLAN_DEVICE")]
State = Annotated[Path, typer.Option("--state", help="Folder of the agent's state.", envvar="SLICEPLAN_STATE")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Drain = Annotated[
    float | None,
    typer.Option("--drain", min=0, metavar="SECONDS", help="Wait so long for processes of others to leave."),
]

STATE_FOLDER = Path("/var/lib/sliceplan")


def main() -> None:
    """Runs the command line; every expected error ends in a message and an exit code."""
    try:
        app()
    except SliceplanError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except (DeviceError, StepFailedError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


@app.command()
def plan(
    plan_file: PlanFile,
    node: Node,
    current: Annotated[
        Path | None, typer.Option(help="Plan that runs on the node now; default: MIG is off, nothing runs.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option("--device", help="Read the live state of simulated:FILE.", envvar="SLICEPLAN_DEVICE"),
    ] = None,
    state: State = STATE_FOLDER,
    as_json: Annotated[bool, typer.Option("--json", help="Print the steps as JSON.")] = False,
) -> None:
    """Show the steps that bring a node to its plan, tried on a simulated node. Changes nothing."""
    desired = node_share(read_plan(plan_file), node, str(plan_file))
    if device and not current:
        transition = plan_transition(open_device(device).state(), desired, read_applied(StateFolder(state)))
    else:
        transition = _from_plan(desired, node_share(read_plan(current), node, str(current)) if current else {}, current)
    if as_json:
        print(json.dumps(transition_data(node, transition), indent=1))
    else:
        _show(node, transition)
        print("Dry run: nothing was changed.")
    raise typer.Exit(1 if transition.impossible else 0)


@app.command()
def apply(
    plan_file: PlanFile,
    node: Node,
    device: DeviceName,
    state: State = STATE_FOLDER,
    yes: Yes = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the steps and change nothing.")] = False,
    drain: Drain = None,
    discard_journal: Annotated[
        bool, typer.Option("--discard-journal", help="Leave an unfinished transition where it is.")
    ] = False,
) -> None:
    """Bring a node to its plan: show the steps, ask, carry them out; what fails is rolled back."""
    session = Session(open_device(device), StateFolder(state), Patience(drain))
    desired = desired_of(plan_file, node)
    with locked(session.folder):
        if not dry_run:
            _finish_what_was_left(session, yes, discard_journal)
        applied = read_applied(session.folder)
        transition = plan_transition(read_state(session), desired.state, applied)
        _show(node, transition)
        _refuse_what_cannot_be(transition, drain)
        if dry_run:
            print("Dry run: nothing was changed.")
        elif not transition.steps:
            note_plan(session, transition, desired.plan, applied)
        else:
            _confirm("Apply?", yes)
            with stoppable(session) as stopping:
                _end(apply_transition(stopping, transition, desired.plan))


@app.command()
def rollback(device: DeviceName, state: State = STATE_FOLDER, yes: Yes = False, drain: Drain = None) -> None:
    """Bring a node back to what it was before the last apply, or undo a transition that was left unfinished."""
    session = Session(open_device(device), StateFolder(state), Patience(drain))
    with locked(session.folder):
        if open_one := unfinished(session.folder):
            print("An agent left a transition before its end. It is undone.")
            transition = plan_transition(read_state(session), open_one.begun.old)
            _show("", transition)
            _confirm("Undo it?", yes)
            with stoppable(session) as stopping:
                _end(undo(stopping, open_one, "undone by `sliceplan-agent rollback`"))
        applied = read_applied(session.folder)
        if applied is None or not applied.checkpoint:
            raise InputError([Finding(str(state), "", "has nothing to go back to: nothing was applied from here yet")])
        checkpoint = read_checkpoint(session.folder, applied.checkpoint)
        transition = plan_transition(read_state(session), checkpoint.state)
        print(f"Back to what there was at {checkpoint.when}.")
        _show("", transition)
        _refuse_what_cannot_be(transition, drain)
        _confirm("Roll back?", yes)
        with stoppable(session) as stopping:
            _end(apply_transition(stopping, transition, checkpoint.plan, "rollback", rolled_back=applied.plan))


@app.command()
def run(
    plan_file: PlanFile,
    node: Node,
    device: DeviceName,
    state: State = STATE_FOLDER,
    interval: Annotated[float, typer.Option(min=1, metavar="SECONDS", help="Pause between two looks.")] = 30.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, act if needed, and end.")] = False,
    allow_reset: Annotated[
        bool, typer.Option("--allow-reset", help="Reset GPUs and change MIG modes without a person.")
    ] = False,
    drain: Drain = None,
) -> None:
    """Keep a node at its plan: apply what is new, repair what drifted, from boot on."""
    session = Session(open_device(device), StateFolder(state), Patience(drain), say=_say_at_once)

    def fetch(_applied: Applied | None) -> Desired:
        return desired_of(plan_file, node)

    with stoppable(session) as stopping:
        last = keep(stopping, fetch, tuple, Rules(interval, allow_reset=allow_reset), once)
    if once:
        raise typer.Exit(0 if last.doing in ("in sync", "applied") else 1)


@app.command()
def simulate(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="File of the simulated node.")],
    gpus: Annotated[
        list[str] | None, typer.Option("--gpus", metavar="TYPE:COUNT", help="Make it, with these GPUs.")
    ] = None,
    reboot: Annotated[bool, typer.Option("--reboot", help="Reboot it.")] = False,
    busy: Annotated[
        list[str] | None, typer.Option("--busy", metavar="PID@GPU:START", help="A process of others holds that.")
    ] = None,
    fail: Annotated[
        list[str] | None, typer.Option("--fail", metavar="KIND@CALL", help="That call of the driver will fail.")
    ] = None,
) -> None:
    """Make a node without hardware, for --device simulated:FILE, and let things happen to it."""
    if gpus:
        make(path, gpus)
    happen(path, reboot, busy or [], fail or [])


def _from_plan(desired: NodeState, running: NodeState, source: Path | None) -> Transition:
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
def keygen(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="KEYFILE", help="Private key to write.")],
) -> None:
    """Make a pair of keys: KEYFILE signs plans, KEYFILE.pub is for the nodes that shall trust them."""
    from .trust.keys import generate

    public, name = generate(output)
    print(f"{output}: private key; keep it where plans are signed, and on no node")
    print(f"{public}: public key; copy it to the folder `trusted_keys` of each node")
    print(f"key id {name}")


def _finish_what_was_left(session: Session, yes: bool, discard_it: bool) -> None:
    """Goes on with a transition that an agent left before its end."""
    open_one = unfinished(session.folder)
    if open_one is None:
        return
    if discard_it:
        discard(session)
        return
    goal = open_one.begun.new if open_one.turned_back is None else open_one.begun.old
    print(f"An agent left a transition before its end. It goes {'on' if goal is open_one.begun.new else 'back'} first.")
    _show("", plan_transition(read_state(session), goal))
    _confirm("Go on?", yes)
    with stoppable(session) as stopping:
        outcome = resume(stopping, open_one)
    print(outcome)
    if outcome.end in ("stuck", "stopped"):
        raise typer.Exit(1)


def _show(node: str, transition: Transition) -> None:
    for line in transition_text(node, transition):
        print(line)


def _refuse_what_cannot_be(transition: Transition, drain: float | None) -> None:
    if transition.impossible:
        print("Nothing was changed.")
        raise typer.Exit(1)
    if transition.busy and drain is None:
        print("Nothing was changed: stop these processes, or say with --drain SECONDS how long to wait for them.")
        raise typer.Exit(1)


def _confirm(question: str, yes: bool) -> None:
    if not yes and not typer.confirm(question):
        print("Nothing was changed.")
        raise typer.Exit(1)


def _end(outcome: Outcome) -> None:
    print(outcome)
    raise typer.Exit(0 if outcome.end == "applied" or outcome.undone else 1)


def _say_at_once(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
