"""What each version of a problem costs: by the last plan that is saved for it, or worked out on request."""

from collections.abc import Sequence
from itertools import pairwise

import streamlit as st

from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.jobs.version_costs import version_costs
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.session import Session
from sliceplan.app.store.plans import plans
from sliceplan.app.store.records import Version
from sliceplan.app.store.shared import problem_at, shared_store
from sliceplan.app.tables.history import VersionCost, changed_in_words
from sliceplan.app.widgets.job_progress import begin, show_failure, value_of
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.differences.problems import changes
from sliceplan.solver.what_if.points import used_profiles

PURPOSE = "version_costs"

MOST_LOOKED_AT = 12
"""Latest versions that are loaded to say what changed, and planned to say what they cost."""


def costs_of(session: Session, name: str, found: Sequence[Version]) -> dict[str, VersionCost]:
    """Returns what versions cost, by the digest of their problem: equal versions cost the same."""
    worked_out = {digest: VersionCost(*cost) for digest, cost in (value_of(session, PURPOSE) or {}).items()}
    digest_of = {version.key: version.sha256 for version in found}
    saved = {
        digest_of[plan.problem]: VersionCost(plan.cost_per_hour, plan.gpus_used)
        for plan in reversed(plans(shared_store(), name))
        if plan.problem in digest_of and plan.cost_per_hour is not None and plan.gpus_used
    }
    return {**worked_out, **saved}


def changed(found: Sequence[Version]) -> dict[int, str]:
    """Returns what changed against the version before, by number, of the latest versions; `found`: latest first."""
    store, said = shared_store(), {}
    for now, before in pairwise(found[: MOST_LOOKED_AT + 1]):
        was, problem = problem_at(store, before.key), problem_at(store, now.key)
        said[now.key.number] = changed_in_words(changes(was, problem), problem.labels)
    return said


def offer_costs(session: Session, found: Sequence[Version], known: dict[str, VersionCost]) -> None:
    """Offers to plan the latest versions of which nothing says what they cost."""
    show_failure(session.results.get(PURPOSE))
    missing = {one.sha256: one.key for one in found[:MOST_LOOKED_AT] if one.sha256 not in known}
    if not missing or PURPOSE in session.open_jobs:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("What a version costs is known from its last saved plan; without one, it can be worked out.")
        pressed = st.button("Work out what they cost", key="version_costs", help="Plans each of them for a moment.")
    if not pressed:
        return
    store, profiles = shared_store(), known_profiles()
    problems = {digest: problem_at(store, key) for digest, key in missing.items()}
    asked = [(digest, problem, used_profiles(problem, profiles)) for digest, problem in problems.items()]
    problem = next(iter(problems.values()))
    try:
        job = shared_jobs().submit(session.user, PURPOSE, f"what versions of {problem.name} cost", version_costs, asked)
        begin(session, PURPOSE, job, problem)
        st.rerun()
    except TooManyJobsError as error:
        st.error(literal(str(error)))
