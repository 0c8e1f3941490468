"""Where a plan comes from: which saved version it answers, when and by whom that was saved, and whether the plan is."""

from datetime import datetime

from sliceplan.app.store.problems import versions
from sliceplan.app.store.records import Version
from sliceplan.app.store.shared import is_saved_as, shared_store
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.errors import SliceplanError
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem

from .kept import Kept
from .saved_plan import SAVED_PLAN
from .session import Answer, Session

NOTED = Kept[tuple[tuple[Plan, str], ...]]("plan.origins")
"""Plans that came from elsewhere than a search of the session, and from where, the latest first."""

MOST = 8

NOT_SAVED = "not saved yet"


def note_origin(session: Session, plan: Plan, words: str) -> None:
    """Notes where a plan comes from that no search of the session found."""
    others = [one for one in NOTED.of(session, ()) if one[0] is not plan]
    NOTED.keep(session, ((plan, words), *others)[:MOST])


def origin_in_words(session: Session, answer: Answer) -> str:
    """Returns it as `version 3 of walk, saved 2026-11-28 12:04 UTC by ada; the plan itself is not saved`."""
    noted = next((words for plan, words in NOTED.of(session, ()) if plan is answer.plan), None)
    if noted is not None:
        return noted
    try:
        version = _answered(session, answer.problem)
    except SliceplanError:
        version = None
    if version is None:
        return NOT_SAVED
    key, plan = SAVED_PLAN.of(session, (None, None))
    is_saved = plan is answer.plan and key is not None and key.document == version.key.document
    said = f"version {version.key.number} of {version.key.document}, {saved_in_words(version.saved_at, version.author)}"
    return f"{said}, with this plan" if is_saved else f"{said}; the plan itself is not saved"


def saved_in_words(at: datetime, author: str) -> str:
    """Returns when, in UTC, and by whom something was saved."""
    return f"saved {at:%Y-%m-%d %H:%M} UTC by {author}"


def _answered(session: Session, problem: Problem) -> Version | None:
    """Returns the latest version that states a problem, of those under the name that the session works under."""
    if session.saved_as is None:
        return None
    store, digest = shared_store(), reference(problem).sha256
    there = versions(store, session.saved_as.document)
    same = [one for one in there if one.sha256 == digest]
    same += [one for one in there if one.key == session.saved_as and is_saved_as(store, problem, one.key)]
    return max(same, key=lambda one: one.key.number, default=None)
