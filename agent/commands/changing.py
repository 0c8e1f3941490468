"""The commands that change a node: `apply`, `rollback` and `run`."""

from typing import Annotated

import typer

from ...solver.model.errors import Finding, InputError
from ..model.node import gpu_states
from ..saying import say
from ..setup.device import refuse_slices_without_cpusets
from ..setup.opening import Agent, Words, open_agent, stoppable
from ..setup.plain_processes import plain_processes_of
from ..showing.terminal import transition_text
from ..transition.applied import read_applied
from ..transition.applying import Outcome, apply_transition, discard, resume, undo
from ..transition.checkpoint import read_checkpoint
from ..transition.journal import unfinished
from ..transition.lock import alone
from ..transition.preflight import NodeTransition, plan_transition
from ..transition.reconcile import Rules, keep, note_plan
from ..transition.session import Session
from ..transition.step_executor import read_state
from ..transition.vouching import refuse_unvouched
from .options import CHANGING, FOLLOWING, taking

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the steps and change nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@taking(FOLLOWING)
def apply(
    words: Words,
    yes: Yes = False,
    dry_run: DryRun = False,
    discard_journal: Annotated[
        bool, typer.Option("--discard-journal", help="Leave an unfinished transition where it is.")
    ] = False,
) -> None:
    """Bring a node to its plan: show the steps, ask, carry them out; what fails is rolled back."""
    agent = open_agent(words)
    _caution(agent)
    wanted = agent.fetch()
    with alone(agent.session):
        _refuse_other_owners(agent)
        if not dry_run:
            _finish_what_was_left(agent, yes, discard_journal)
        applied = read_applied(agent.session.folder)
        desired = wanted(applied)
        transition = plan_transition(read_state(agent.session), desired.state, applied)
        _show(agent, agent.config.node_name, transition)
        _show_what_nobody_starts(agent, transition)
        _show_unlike_the_catalogue(agent, transition)
        plain = plain_processes_of(agent.config, transition.live)
        refuse_slices_without_cpusets(agent.config, transition.steps, plain)
        _refuse_what_cannot_be(transition, agent.session)
        _stop_if_dry(dry_run)
        if not transition.steps:
            note_plan(agent.session, transition, desired.plan, applied)
        else:
            _confirm("Apply?", yes)
            with stoppable(agent.session) as session:
                _end(apply_transition(session, transition, desired.plan, signed=desired.signed))


@taking(CHANGING)
def rollback(words: Words, yes: Yes = False, dry_run: DryRun = False) -> None:
    """Bring a node back to what it was before the last apply, or undo a transition that was left unfinished."""
    agent = open_agent(words)
    folder = agent.session.folder
    with alone(agent.session):
        _refuse_other_owners(agent)
        if open_one := unfinished(folder):
            say("An agent left a transition before its end. It is undone.")
            _show(agent, agent.config.node_name, plan_transition(read_state(agent.session), open_one.begun.old))
            _stop_if_dry(dry_run)
            _confirm("Undo it?", yes)
            with stoppable(agent.session) as session:
                _end(undo(session, open_one, "undone by `sliceplan-agent rollback`"))
        applied = read_applied(folder)
        if applied is None or not applied.checkpoint:
            message = "has nothing to go back to: nothing was changed from here yet"
            raise InputError([Finding(str(folder.path), "", message)])
        checkpoint = read_checkpoint(folder, applied.checkpoint)
        transition = plan_transition(read_state(agent.session), checkpoint.state)
        say(f"Back to what there was at {checkpoint.when}.")
        _show(agent, agent.config.node_name, transition)
        _refuse_what_cannot_be(transition, agent.session)
        _stop_if_dry(dry_run)
        _confirm("Roll back?", yes)
        with stoppable(agent.session) as session:
            _end(apply_transition(session, transition, checkpoint.plan, "rollback", rolled_back=applied.plan))


@taking(FOLLOWING)
def run(
    words: Words,
    interval: Annotated[
        float | None, typer.Option(min=1, metavar="SECONDS", help="Pause between two looks; default: as configured.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Look once, act if needed, and end.")] = False,
    allow_reset: Annotated[
        bool, typer.Option("--allow-reset", help="Reset GPUs and change MIG modes without a person.")
    ] = False,
) -> None:
    """Keep a node at its plan: apply what is new, repair what drifted, from boot on."""
    agent = open_agent(words)
    _caution(agent)
    rules = Rules(interval or agent.config.plan.interval_s, allow_reset=allow_reset or agent.config.allow_reset)
    with stoppable(agent.session, ends_with_terminal=True) as session:
        last = keep(session, agent.fetch, agent.owners, rules, once)
    if once:
        raise typer.Exit(0 if last.doing in ("in sync", "applied") else 1)


def _caution(agent: Agent) -> None:
    for text in agent.config.plan_source.cautions():
        agent.session.say(f"! {text}")


def _refuse_other_owners(agent: Agent) -> None:
    if others := agent.owners():
        raise InputError([Finding("this node", "", f"has another owner: {text}") for text in others])


def _finish_what_was_left(agent: Agent, yes: bool, discard_it: bool) -> None:
    """Goes on with a transition that an agent left before its end."""
    session = agent.session
    if discard_it:
        discard(session)
        return
    open_one = unfinished(session.folder)
    if open_one is None:
        return
    refuse_unvouched(session, open_one)
    say(f"An agent left a transition before its end. It goes {open_one.goes} first.")
    goal = open_one.begun.new if open_one.turned_back is None else open_one.begun.old
    _show(agent, "", plan_transition(read_state(session), goal))
    _confirm("Go on?", yes)
    with stoppable(session) as stopping:
        outcome = resume(stopping, open_one)
    say(outcome)
    if outcome.end in ("stuck", "stopped", "halted"):
        raise typer.Exit(1)


def _show(agent: Agent, node: str, transition: NodeTransition) -> None:
    for line in transition_text(node, transition, plain_processes_of(agent.config, transition.live)):
        say(line)


def _show_what_nobody_starts(agent: Agent, transition: NodeTransition) -> None:
    """Names the services for which there is no template; a simulated node starts none, and needs none."""
    if agent.config.simulated_node is not None:
        return
    wanted = {(service.workload, key) for key, state in transition.new.items() for service in state.services}
    on_cores = {workload for workload, key in wanted if isinstance(key, str)}
    for workload in sorted({workload for workload, _ in wanted}):
        template = agent.config.template(workload)
        if template is None:
            beside = ", and its slice is there for it" if workload in on_cores else ""
            say(f"Not started: {workload} has no template; its environment is written to a file{beside}.")


def _show_unlike_the_catalogue(agent: Agent, transition: NodeTransition) -> None:
    """Names the MIG profiles that this driver has otherwise than the catalogue, with which the plan was made."""
    indices = [index for index, state in gpu_states(transition.new).items() if state.mig_enabled]
    if agent.config.simulated_node is not None or not indices:
        return
    from ..devices.nvml.catalogue_check import catalogue_lines

    for line in catalogue_lines(indices):
        say(f"! {line}")


def _refuse_what_cannot_be(transition: NodeTransition, session: Session) -> None:
    if transition.impossible:
        say("Nothing was changed.")
        raise typer.Exit(1)
    if transition.busy and session.patience.drain_s is None:
        say("Nothing was changed: stop these processes, or say with --drain SECONDS how long to wait for them.")
        raise typer.Exit(1)


def _stop_if_dry(dry_run: bool) -> None:
    if dry_run:
        say("Dry run: nothing was changed.")
        raise typer.Exit(0)


def _confirm(question: str, yes: bool) -> None:
    """Ends the command unless a person says yes; Ctrl-C, the end of the input and a question unseen are a no."""
    if yes:
        return
    try:
        if typer.confirm(question):
            return
        say("Nothing was changed.")
    except (typer.Abort, OSError):
        say("\nNothing was changed: nobody answered; --yes does not ask.")
    raise typer.Exit(1)


def _end(outcome: Outcome) -> None:
    say(outcome)
    raise typer.Exit(0 if outcome.end == "applied" or outcome.undone else 1)
