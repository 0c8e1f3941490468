"""
Keeping a node at its desired state: the loop of `sliceplan-agent run`.

Each round takes the lock, goes on with what an agent left open, fetches the plan, compares it with the node as it is
now, and applies it if it is new or the node has drifted. A reboot is nothing special: instances and processes are
gone then, from Hopper on MIG mode too, and the comparison finds that.

Nothing here asks a person, so a round does less than `apply`: it resets no GPU and changes no MIG mode unless the
configuration allows it (a mode that a reboot lost comes back all the same: the plan had it already, and nothing runs on
that GPU), and it does not apply again what `rollback` undid. What it does not do, it reports. After a failure it waits
longer each time, until the plan or the outcome changes.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ...solver.model.errors import SliceplanError
from ...solver.model.words import counted
from ..model.desired import Desired, PlanReference
from ..model.live import LiveNode, gpus_of
from ..model.node import NodeState, gpu_states
from .applied import Applied, read_applied, write_applied
from .applying import Outcome, apply_transition, resume
from .journal import unfinished
from .lock import alone
from .preflight import NodeTransition, plan_transition
from .records import record_json
from .session import Session
from .state_folder import STATE
from .step_executor import StepFailedError, read_state

Wanted = Callable[[Applied | None], Desired]
"""What a plan that was fetched wants of the node, given what was applied last (None: nothing yet)."""

Doing = Literal["in sync", "applied", "rolled back", "waiting", "needs attention", "stopped"]


@dataclass(frozen=True)
class Rules:
    """What the loop may do, and how often it looks."""

    interval_s: float = 30.0
    longest_pause_s: float = 600.0
    """Longest pause after failures."""
    allow_reset: bool = False
    """Whether it may reset GPUs and change MIG modes by itself."""


@dataclass(frozen=True)
class Round:
    """What one round came to; `state.json` holds the last one."""

    doing: Doing
    reason: str | None = None
    when: str = ""
    pid: int = 0
    failures: int = 0
    """Rounds in succession that failed."""
    plan: PlanReference | None = None


def keep(
    session: Session,
    fetch: Callable[[], Wanted],
    owners: Callable[[], Sequence[str]],
    rules: Rules,
    once: bool = False,
) -> Round:
    """
    Keeps the node at the state that its plan wants, until the session is asked to stop; returns the last round.

    Parameters
    ----------
    fetch
        Asks for the plan, without the lock, which a slow server would hold; returns what tells what it wants, given
        what was applied last. Both raise SliceplanError if there is no plan that may be applied.
    owners
        Returns who else changes the node's GPUs, in words.
    """
    failures, last = 0, None
    while True:
        found = look(session, fetch, owners, rules)
        failed = found.doing in ("rolled back", "needs attention")
        failures = failures + 1 if failed else 0
        last = _noted(session, found, failures, last)
        if once or session.stop_asked() or found.doing == "stopped":
            return last
        _pause(session, fetch, rules, last)
        if session.stop_asked():
            return last


def _pause(session: Session, fetch: Callable[[], Wanted], rules: Rules, last: Round) -> None:
    """Waits for the next round; after failures longer, unless another plan comes."""
    left_s = max(rules.interval_s, min(rules.interval_s * 2 ** max(last.failures - 1, 0), rules.longest_pause_s))
    while left_s > 0 and not session.stop_asked():
        session.sleep(min(left_s, rules.interval_s))
        left_s -= rules.interval_s
        if left_s > 0 and _is_another(session, fetch, last.plan):
            return


def _is_another(session: Session, fetch: Callable[[], Wanted], plan: PlanReference | None) -> bool:
    try:
        wanted = fetch()
        with alone(session):
            return not wanted(read_applied(session.folder)).plan.is_same(plan)
    except SliceplanError:
        return False


def look(
    session: Session,
    fetch: Callable[[], Wanted],
    owners: Callable[[], Sequence[str]],
    rules: Rules,
) -> Round:
    """Makes one round, under the lock; nothing that goes wrong leaves it as an exception."""
    try:
        wanted = _asked(fetch)
        with alone(session):
            return _look(session, wanted, owners, rules)
    except (SliceplanError, StepFailedError, OSError) as error:
        return Round("needs attention", str(error))


def _look(
    session: Session,
    wanted: Wanted,
    owners: Callable[[], Sequence[str]],
    rules: Rules,
) -> Round:
    if others := owners():
        return Round("needs attention", "; ".join(others))
    if open_one := unfinished(session.folder):
        session.say("Going on with the transition that an agent left before its end.")
        outcome = resume(session, open_one)
        if outcome.end != "applied":
            return _as_round(outcome, open_one.begun.plan)
    applied = read_applied(session.folder)
    state, plan, signed, trouble = _to_keep(wanted, applied)
    if state is None:
        return Round("needs attention", trouble)
    found = _bring_to(session, state, plan, signed, applied, rules)
    if trouble is None or found.doing in ("rolled back", "needs attention", "stopped"):
        return found
    return Round("needs attention", f"{trouble}\nKept at the state applied last.", plan=plan)


def _asked(fetch: Callable[[], Wanted]) -> Wanted:
    """Asks for the plan; where there is none, what stands in its place says so when it is called."""
    try:
        return fetch()
    except SliceplanError as error:
        failed = error

    def refuses(_applied: Applied | None) -> Desired:
        raise failed

    return refuses


def _to_keep(
    wanted: Wanted, applied: Applied | None
) -> tuple[NodeState | None, PlanReference | None, bytes | None, str | None]:
    """Returns the state to keep, its plan, that as it was signed, and what is wrong with the plan that was fetched."""
    kept = (applied.state, applied.plan, None) if applied else (None, None, None)
    try:
        desired = wanted(applied)
    except SliceplanError as error:
        return *kept, str(error)
    if applied and desired.plan.is_same(applied.rolled_back):
        return *kept, None
    return desired.state, desired.plan, desired.signed, None


def _bring_to(
    session: Session,
    state: NodeState,
    plan: PlanReference | None,
    signed: bytes | None,
    applied: Applied | None,
    rules: Rules,
) -> Round:
    transition = plan_transition(read_state(session), state, applied)
    if transition.impossible:
        return Round("needs attention", "; ".join(transition.impossible), plan=plan)
    if not transition.steps:
        note_plan(session, transition, plan, applied)
        return Round("in sync", plan=plan)
    if reason := _needs_a_person(transition, applied, rules):
        return Round("needs attention", reason, plan=plan)
    if transition.busy and session.patience.drain_s is None:
        return Round("waiting", "; ".join(transition.busy), plan=plan)
    session.say(f"To the plan: {counted(len(transition.steps), 'step')}.")
    held = applied.rolled_back if applied and applied.plan == plan else None
    return _as_round(apply_transition(session, transition, plan, rolled_back=held, signed=signed), plan)


def _needs_a_person(transition: NodeTransition, applied: Applied | None, rules: Rules) -> str | None:
    """Returns why the loop may not carry out a transition by itself; None: it may."""
    if rules.allow_reset:
        return None
    had, wanted = gpu_states(applied.state) if applied else {}, gpu_states(transition.new)
    lost = {
        index
        for index in transition.interrupted_gpus
        if index not in transition.reset_gpus
        and index in had
        and had[index].mig_enabled == wanted[index].mig_enabled
        and _runs_nothing(transition.live, index)
    }
    left = [index for index in transition.interrupted_gpus if index not in lost]
    if not left:
        return None
    gpus = f"GPU {', '.join(map(str, left))}"
    return (
        f"the plan changes the MIG mode of {gpus}, or resets it, which ends everything that runs there; "
        "run `sliceplan-agent apply`, or set `allow_reset: true`"
    )


def _runs_nothing(live: LiveNode, index: int) -> bool:
    gpu = gpus_of(live)[index]
    return not (gpu.services or gpu.clients)


def note_plan(
    session: Session, transition: NodeTransition, plan: PlanReference | None, applied: Applied | None
) -> None:
    """Remembers a plan that the node has already: it is applied without a step."""
    if applied and applied.plan == plan and applied.state == dict(transition.new):
        return
    checkpoint = applied.checkpoint if applied else ""
    write_applied(session.folder, Applied(session.time(), dict(transition.new), plan, checkpoint))


def _as_round(outcome: Outcome, plan: PlanReference | None) -> Round:
    doing: dict[str, Doing] = {"applied": "applied", "rolled back": "rolled back", "stopped": "stopped"}
    return Round(doing.get(outcome.end, "needs attention"), outcome.reason, plan=plan)


def _noted(session: Session, found: Round, failures: int, last: Round | None) -> Round:
    """Writes the state file, and says what changed since the last round; a full disk ends no loop."""
    noted = Round(found.doing, found.reason, session.time(), os.getpid(), failures, found.plan)
    trouble = None
    try:
        before = record_json(last) if last else session.folder.read(STATE)
        session.folder.write(STATE, record_json(noted))
    except SliceplanError as error:
        before, trouble = None if last is None else record_json(last), str(error)
    if before is None or _gist(before) != _gist(record_json(noted)) or found.doing == "applied":
        session.say(f"{found.doing}{': ' + found.reason if found.reason else ''}")
        if trouble:
            session.say(f"! {trouble}")
    return noted


def _gist(content: bytes) -> list[bytes]:
    """Returns the lines of a state file that a person would be told about."""
    return [line for line in content.splitlines() if b'"doing"' in line or b'"reason"' in line]
