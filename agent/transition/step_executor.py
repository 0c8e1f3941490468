"""
Carrying out steps: each one is journalled, carried out, read back and compared with what it promises.

What counts is the read-back, not the answer of the driver: a call that failed or took too long is done if its promise
is kept, and one that succeeded is not if it is broken.
"""

from collections.abc import Sequence

from ...solver.model.errors import SliceplanError
from ..model.core_steps import CheckOnCores
from ..model.device_error import DeviceError
from ..model.differences import differences
from ..model.live import LiveNode, instance_uuids
from ..model.node import NodeState, Slot
from ..model.step_text import step_text
from ..model.steps import CheckHealth, DestroyComputeInstance, DestroyInstance, Step, StopMps
from .journal import Done, Failed, Intended, Journal
from .preflight import clients_in_the_way, names_of
from .readback import broken_promise
from .session import Session

POLL_S = 0.5
"""How often to look whether others have left."""


class StepFailedError(Exception):
    """A step was not carried out as promised; the message says which and why."""


class StopAskedError(Exception):
    """Somebody asked the agent to stop; the journal stays open."""


def read_state(session: Session) -> LiveNode:
    """Returns the state of the node; raises StepFailedError if the driver does not answer."""
    try:
        return session.device.state()
    except (DeviceError, SliceplanError, OSError) as error:
        raise StepFailedError(f"the node cannot be read: {error}") from error


def carry_out(session: Session, journal: Journal, steps: Sequence[Step], target: NodeState) -> None:
    """
    Carries out steps, and compares the whole state with what they are to reach.

    Raises
    ------
    StepFailedError
        If a step fails or the state is another one; the steps before it are done.
    StopAskedError
        If somebody asked to stop; the step that ran is done.
    """
    known = instance_uuids(read_state(session))
    for number, step in enumerate(steps, 1):
        if session.stop_asked():
            raise StopAskedError(f"stopped before step {number} of {len(steps)} ({step_text(step)})")
        session.say(f"{number:3}/{len(steps)} {step_text(step)}")
        _carry_out_one(session, journal, step, known)
    reached = read_state(session)
    wrong = differences(reached, target)
    uuids = instance_uuids(reached)
    wrong += [
        f"GPU {slot.gpu_index}: the instance at {slot.start} has the UUID {uuids.get(slot)}, not {expected} as before"
        for slot, expected in known.items()
        if slot.gpu_index in target and uuids.get(slot) != expected
    ]
    if wrong:
        raise StepFailedError(f"the state read back is not the one wanted: {'; '.join(wrong)}")


def _carry_out_one(session: Session, journal: Journal, step: Step, known: dict[Slot, str]) -> None:
    """Carries out one step, and keeps the UUIDs known up to date."""
    text = step_text(step)
    before = _wait_until_idle(session, step, text)
    journal.write(Intended(text))
    error, broken, after = _try(session, step, before, known)
    if broken is not None:
        reason = str(error) if error else f"the driver reported success, but {broken}"
        journal.write(Failed(text, reason))
        raise StepFailedError(f"{text}: {reason}")
    if error:
        session.say(f"        it was carried out all the same: {error}")
    journal.write(Done(text, str(error) if error else None))
    _refresh(known, step, after)


def _try(
    session: Session, step: Step, before: LiveNode, known: dict[Slot, str]
) -> tuple[DeviceError | None, str | None, LiveNode]:
    """Returns the last error of the driver, what is broken of the promise, and what was read back."""
    pause_s = session.patience.pause_s
    for left in reversed(range(session.patience.tries)):
        error: DeviceError | None = None
        try:
            session.device.apply(step, session.patience.limit_s(step))
        except DeviceError as refused:
            error = refused
        except (SliceplanError, OSError) as refused:
            error = DeviceError("UNKNOWN", str(refused))
        after = read_state(session)
        broken = broken_promise(step, before, after, known)
        if error and isinstance(step, CheckHealth | CheckOnCores):
            broken = broken or "it is not healthy"
        retry = (
            error and error.name == "IN_USE" and isinstance(step, DestroyComputeInstance | DestroyInstance | StopMps)
        )
        if broken is None or not retry or not left:
            break
        session.say(f"        again in {pause_s:g} s: {error}")
        session.sleep(pause_s)
        pause_s *= 2
    return error, broken, after


def _wait_until_idle(session: Session, step: Step, text: str) -> LiveNode:
    """Waits for processes of others to leave what a step needs idle, as long as the drain time lets it."""
    patience, end = session.patience, session.clock() + (session.patience.drain_s or 0)
    live = read_state(session)
    while clients := clients_in_the_way(step, live):
        if patience.drain_s is None:
            raise StepFailedError(f"{text}: in use by {names_of(clients)}. Stop them, or give them time with --drain")
        if session.clock() >= end:
            raise StepFailedError(f"{text}: still in use by {names_of(clients)} after {patience.drain_s:g} s")
        if session.stop_asked():
            raise StopAskedError(f"stopped while waiting for {names_of(clients)} before {text}")
        session.sleep(POLL_S)
        live = read_state(session)
    return live


def _refresh(known: dict[Slot, str], step: Step, after: LiveNode) -> None:
    """Takes over the UUIDs of the step's GPU: that of a new instance is known from now on."""
    there = instance_uuids(after)
    for slot in [slot for slot in known if slot.gpu_index == step.device and slot not in there]:
        del known[slot]
    known.update({slot: uuid for slot, uuid in there.items() if slot.gpu_index == step.device})
