"""The first lines of a plan: what is proven and promised, in words and colour, what changed, and what is in the way."""

import pandas as pd
import streamlit as st

from sliceplan.app.profiles.left_out import uncovered
from sliceplan.app.session.session import Session
from sliceplan.app.session.shown import shown
from sliceplan.app.tables.changed import is_the_same_but_for_changes, since
from sliceplan.app.tables.labels import settings_in_words
from sliceplan.app.tables.promise import promise_badge, proof_and_requests
from sliceplan.app.tables.verdict import Colour, verdict
from sliceplan.app.widgets.making_it_hold import offer_to_make_it_hold, show_what_holds
from sliceplan.app.widgets.simulation import usual_simulation_of
from sliceplan.app.widgets.tables import show_table
from sliceplan.app.widgets.texts import listed, literal
from sliceplan.app.widgets.traffic import usual_traffic
from sliceplan.app.widgets.words import PROMISE
from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.wording.reasons import reasons
from sliceplan.solver.wording.summary import misses, plan_result
from sliceplan.solver.wording.what_is_proven import plans_for_no_percentile

from .assumed import show_assumed
from .estimating import offer_estimates
from .remedying import offer_remedies, show_taken

EXCESS = {"excess": st.column_config.NumberColumn("above the limit", format="%.1f %%")}

ICONS: dict[Colour, str] = {
    "green": ":material/verified:",
    "blue": ":material/check:",
    "orange": ":material/help:",
    "red": ":material/block:",
}

PROMISE_ICONS: dict[Colour, str] = {
    "blue": ":material/timer:",
    "orange": ":material/warning:",
    "red": ":material/timer_off:",
}

MOST_REASONS = 12
"""Why services have no place, services with the same reason together."""


def show_headline(session: Session, problem: Problem, plan: Plan, goes_on: bool) -> None:
    """Draws them; `goes_on`: a search is improving the plan."""
    is_answer = not goes_on and session.answer is not None and session.answer.plan is plan
    names = problem
    answered = plan
    problem, plan = shown(session, names, problem), shown(session, names, plan)
    without = uncovered(problem)
    seen = None if goes_on else usual_simulation_of(session, names, answered)
    with st.container(horizontal=True, vertical_alignment="center", key="verdicts"):
        words, colour = verdict(plan, without)
        # What is the last word and proven is said by the headline, what is promised by the lines below it.
        if not goes_on and colour != "green":
            st.badge(words, color=colour, icon=ICONS[colour])
        promised = promise_badge(plan, seen)
        if promised is not None and promised[1] != "blue":
            st.badge(promised[0], color=promised[1], icon=PROMISE_ICONS[promised[1]], help=PROMISE)
        if is_answer and session.answer is not None and plans_for_no_percentile(plan):
            offer_to_make_it_hold(session, session.answer, usual_traffic(names), "Plan")
    missing = f", {' and '.join(without)} left out" if without and plan.gpus else ""
    is_proven = not goes_on and colour == "green" and not plans_for_no_percentile(plan)
    sign = f":green[{ICONS['green']}] " if is_proven else ""
    st.header(sign + literal(proof_and_requests(plan, plan_result(plan, plan.gap), missing, seen)))
    if without:
        st.warning(
            f"Left out of this plan: {literal(', '.join(without))}. The speeds of their models are not known there; "
            "the screen *Profiles* shows what is."
        )
        if is_answer and session.answer is not None:
            offer_estimates(session, session.answer, without)
    show_assumed(session, names)
    if is_answer and session.answer is not None and plans_for_no_percentile(plan):
        show_what_holds(session, session.answer, usual_traffic(names))
    if is_answer:
        show_taken(session)
        _show_change(session, names, plan)
    if is_answer and session.answer is not None:
        offer_remedies(session, session.answer)
    _show_trouble(plan)


def _show_change(session: Session, problem: Problem, plan: Plan) -> None:
    """
    Says what is other than in the plan before, where that was of the same problem: of another, it says nothing.

    Parameters
    ----------
    problem
        The one that the plan answers.
    plan
        The session's, as it is shown.
    """
    before = session.before
    if before is None or not (before.plan.gpus and plan.gpus):
        return
    old = shown(session, problem, before.plan)
    if old is not plan and is_the_same_but_for_changes(before.problem, problem):
        st.markdown(f"**Against the plan before:** {literal(since(old, plan))}")


def _ended(line: str) -> str:
    return line if line.endswith((".", "!", "?")) else f"{line}."


def _show_trouble(plan: Plan) -> None:
    """Shows what keeps the plan from being used, gravest first."""
    if plan.violations:
        st.error("Do not deploy this plan: " + literal(misses(plan)) + ".")
        table = pd.DataFrame([one.model_dump() for one in plan.violations]).sort_values("excess", ascending=False)
        show_table(table.assign(excess=100 * table["excess"]), "violations", columns=EXCESS)
    if plan.unserved:
        if plan.status is not Status.INFEASIBLE:
            cannot = "this service" if len(plan.unserved) == 1 else "these services"
            st.warning(f"This is what was tried; it does not prove that {cannot} cannot be served.")
        lines = [_ended(settings_in_words(line)) for line in reasons(plan)]
        more = f"\n- and {len(lines) - MOST_REASONS:,} more reasons" if len(lines) > MOST_REASONS else ""
        st.markdown(listed(lines[:MOST_REASONS]) + more)
