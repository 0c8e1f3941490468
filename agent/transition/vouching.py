"""
Whether what an open journal leads to was ever wanted by anybody who may want something.

A journal says what is done to the node, and is a file. Only who can write the agent's folder can put one there
(guarded_folder.py); should somebody have done so all the same, it is still not obeyed on its own word:

    forward, to a plan     the signed plan beside it (signed-plan.json) must have the digest that the journal names, a
                           signature of a trusted key, no smaller number than the newest one, and want that state
    forward, in a repair   the state must be the one that was applied last (applied.json)
    forward, in a rollback the state must be the one of the checkpoint that applied.json names
    back                   the state must be the one of the transition's own checkpoint

The last three hold one file of the folder against another: what a node had before any plan was signed by nobody.
"""

from ...solver.model.errors import Finding, InputError
from ..model.desired import Desired
from ..model.node import NodeState, unused
from .applied import read_applied
from .checkpoint import read_checkpoint
from .journal import Begun, Unfinished
from .session import Session
from .state_folder import JOURNAL, SIGNED

ADVICE = (
    "it is not obeyed. Look at the node, then go on from what is there: `sliceplan-agent apply --discard-journal`, "
    "or undo it: `sliceplan-agent rollback`"
)


def refuse_unvouched(session: Session, open_one: Unfinished) -> None:
    """Raises InputError if nothing vouches for what an open transition leads to, in the direction that it has."""
    if open_one.turned_back is not None:
        refuse_another_way_back(session, open_one.begun)
        return
    begun, folder = open_one.begun, session.folder
    applied = read_applied(folder)
    if applied is not None and applied.state == begun.new:
        return
    if begun.purpose != "rollback":
        _refuse_unsigned(session, begun)
    elif applied is None or read_checkpoint(folder, applied.checkpoint).state != begun.new:
        raise _refusal(session, "leads to another state than the one to roll back to")


def refuse_another_way_back(session: Session, begun: Begun) -> None:
    """Raises InputError if the state before a transition is not the one of its checkpoint."""
    if read_checkpoint(session.folder, begun.checkpoint).state != begun.old:
        raise _refusal(session, "leads back to another state than its checkpoint")


def _refuse_unsigned(session: Session, begun: Begun) -> None:
    if session.verified is None:  # a simulated node, told to take what nobody signed
        return
    signed = session.folder.read(SIGNED)
    if signed is None or begun.plan is None:
        raise _refusal(session, "carries out a plan that nobody signed")
    wanted = session.verified(signed)
    if not wanted.plan.is_same(begun.plan):
        raise _refusal(session, f"carries out another plan than the signed one beside it ({SIGNED})")
    if not _is_wanted(begun.new, wanted):
        raise _refusal(session, "leads to another state than the signed plan that it names")


def _is_wanted(new: NodeState, wanted: Desired) -> bool:
    """Tells whether a state is what a plan wants; GPUs that it does not name may have been freed."""
    others = {index: state for index, state in new.items() if index not in wanted.state}
    return all(new.get(index) == state for index, state in wanted.state.items()) and all(
        state == unused(state) for state in others.values()
    )


def _refusal(session: Session, message: str) -> InputError:
    return InputError([Finding(str(session.folder.path / JOURNAL), "", f"{message}; {ADVICE}")])
