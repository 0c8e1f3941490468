"""
A transition from its beginning to its end, whatever happens in between.

Forward to the new state; if that fails, back to the old one, GPU by GPU, so that one that cannot go back does not keep
the others; if that fails too, stuck, which says what to do. The journal (journal.py) says at every moment which
way it goes, and `resume` goes on from there. If the journal cannot be written, nothing more is done: halted.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from ..files.durable_files import NotWrittenError
from ..model.desired import PlanReference
from ..model.device_key import device_text
from ..model.differences import differences
from ..model.node import NodeState
from ..model.steps import steps_between
from .applied import Applied, read_applied, write_applied
from .checkpoint import Checkpoint, write_checkpoint
from .dry_run import resets_needed
from .hooks import run_hooks
from .journal import Begun, Ended, Journal, Purpose, Stuck, TurnedBack, Unfinished
from .preflight import NodeTransition
from .session import Session
from .state_folder import SIGNED
from .step_executor import StepFailedError, StopAskedError, carry_out, read_state
from .vouching import refuse_another_way_back, refuse_unvouched

ADVICE = (
    "Look at the node (nvidia-smi, dmesg), remove what is in the way, then run `sliceplan-agent rollback`, which tries "
    "again; or accept the node as it is: `sliceplan-agent apply --discard-journal PLAN`."
)


@dataclass(frozen=True)
class Outcome:
    """How a transition ended."""

    end: Literal["applied", "rolled back", "stuck", "stopped", "halted"]
    reason: str | None = None
    """Why it was not applied; None: it was."""
    undone: bool = False
    """It was rolled back because somebody wanted that."""

    def __str__(self) -> str:
        match self.end:
            case "applied":
                return "Done: the node has the state wanted; it was read back in full."
            case "rolled back" if self.undone:
                return "Undone: the node is as before."
            case "rolled back":
                return f"Failed, and rolled back: the node is as before. Reason: {self.reason}"
            case "stuck":
                return f"Needs attention: {self.reason}\n{ADVICE}"
            case "stopped":
                return (
                    f"Stopped as asked: {self.reason}. The next `sliceplan-agent apply` or `run` goes on; "
                    "`sliceplan-agent rollback` undoes it."
                )
            case "halted":
                return (
                    f"Stopped half-way, for what is done can no longer be noted: {self.reason}. Mend that (a full "
                    "disk?); the next `sliceplan-agent apply` or `run` goes on then, `sliceplan-agent rollback` undoes "
                    "it."
                )


def apply_transition(
    session: Session,
    transition: NodeTransition,
    plan: PlanReference | None,
    purpose: Purpose = "apply",
    rolled_back: PlanReference | None = None,
    signed: bytes | None = None,
) -> Outcome:
    """
    Carries out a transition that was shown and agreed to.

    Parameters
    ----------
    plan
        The plan of the new state; None: it has none.
    rolled_back
        The plan that it undoes.
    signed
        The plan with its signature, which whoever goes on after a kill verifies again.

    Raises
    ------
    NotWrittenError
        If it cannot even be noted that it begins; nothing was changed then.
    """
    before = read_applied(session.folder)
    session.folder.forget_old_checkpoints(before.checkpoint if before else None)
    when = session.time()
    name = session.folder.new_name(when.replace("-", "").replace(":", ""))
    checkpoint = Checkpoint(when, dict(transition.old), before.plan if before else None)
    write_checkpoint(session.folder, name, transition.live, checkpoint)
    back_to = name
    if purpose == "apply" and before and plan and plan.is_same(before.plan):
        purpose, back_to = "repair", before.checkpoint or name
    if signed is not None:
        session.folder.write(SIGNED, signed)
    begun = Begun(when, purpose, dict(transition.old), dict(transition.new), plan, name, back_to, rolled_back)
    Journal(session.folder).begin(begun)
    return _unless_halted(lambda: _go_forward(session, begun))


def resume(session: Session, open_one: Unfinished) -> Outcome:
    """
    Goes on with a transition that an agent left before its end, in the direction that its journal has.

    Raises
    ------
    InputError
        If nothing vouches for the state that it leads to (vouching.py).
    """
    refuse_unvouched(session, open_one)
    if open_one.in_flight:
        session.say(f"In flight when the last agent ended: {open_one.in_flight}")

    def go() -> Outcome:
        Journal(session.folder).take_up()
        if open_one.turned_back is not None:
            return _go_back(session, open_one.begun, open_one.turned_back)
        return _go_forward(session, open_one.begun)

    return _unless_halted(go)


def undo(session: Session, open_one: Unfinished, reason: str) -> Outcome:
    """Takes back a transition that an agent left before its end, whatever its direction was; raises as `resume`."""
    refuse_another_way_back(session, open_one.begun)

    def go() -> Outcome:
        Journal(session.folder).take_up()
        if open_one.turned_back is None:
            Journal(session.folder).write(TurnedBack(reason))
        return _go_back(session, open_one.begun, open_one.turned_back or reason)

    outcome = _unless_halted(go)
    return replace(outcome, undone=outcome.end == "rolled back")


def discard(session: Session) -> None:
    """Ends the open transition where it is, even if its journal cannot be read; the journal is kept beside."""
    Journal(session.folder).set_aside()


def _unless_halted(go: Callable[[], Outcome]) -> Outcome:
    """Returns how a transition ended, also where its journal could not be written any more."""
    try:
        return go()
    except NotWrittenError as error:
        return Outcome("halted", str(error))


def _go_forward(session: Session, begun: Begun) -> Outcome:
    journal = Journal(session.folder)
    try:
        _go_to(session, journal, begun.new)
    except StopAskedError as asked:
        return Outcome("stopped", str(asked))
    except StepFailedError as failure:
        journal.write(TurnedBack(str(failure)))
        session.say(f"Failed: {failure}")
        return _go_back(session, begun, str(failure))
    write_applied(session.folder, Applied(begun.when, begun.new, begun.plan, begun.back_to, begun.rolled_back))
    journal.write(Ended("applied"))
    run_hooks(session)
    return Outcome("applied")


def _go_back(session: Session, begun: Begun, reason: str) -> Outcome:
    journal = Journal(session.folder)
    session.say("Going back to the state before.")
    failures = dict.fromkeys(begun.old, "")
    pause_s = session.patience.pause_s
    for left in reversed(range(session.patience.tries_back)):
        for index in list(failures):
            try:
                _go_to(session, journal, {index: begun.old[index]})
                del failures[index]
            except StopAskedError as asked:
                return Outcome("stopped", str(asked))
            except StepFailedError as failure:
                session.say(f"Failed: {failure}")
                failures[index] = str(failure)
        if not failures or not left:
            break
        session.sleep(pause_s)
        pause_s *= 2
    wrong = list(failures.values()) or _not_as_before(session, begun.old)
    if wrong:
        stuck = f"{reason}; and going back failed: {'; '.join(wrong)}"
        journal.write(Stuck(stuck, ADVICE))
        return Outcome("stuck", stuck)
    journal.write(Ended("rolled back"))
    run_hooks(session)
    return Outcome("rolled back", reason)


def _go_to(session: Session, journal: Journal, target: NodeState) -> None:
    """Carries out what leads from the state of the node to another one; raises as `carry_out`."""
    live = read_state(session)
    if missing := [index for index in target if index not in live]:
        raise StepFailedError(f"{', '.join(map(device_text, missing))}: not there any more")
    carry_out(session, journal, steps_between(live, target, resets_needed(target)), target)


def _not_as_before(session: Session, old: NodeState) -> list[str]:
    """Returns what differs from the old state after all GPUs and CPUs went back to it."""
    try:
        return differences(read_state(session), old)
    except StepFailedError as failure:
        return [str(failure)]
