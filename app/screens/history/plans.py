"""The plans that are saved for a problem: show one again, or state that it runs today."""

from functools import partial

import streamlit as st

from sliceplan.app.access import writing
from sliceplan.app.access.current import current_identity
from sliceplan.app.session.session import Answer, Result, Session
from sliceplan.app.store.plans import load_plan, plans
from sliceplan.app.store.records import SavedPlan
from sliceplan.app.store.shared import problem_at, shared_store
from sliceplan.app.tables.history import plans_table
from sliceplan.app.widgets.attempts import attempt

from .choosing import COLUMNS, choose, kept_toggle, say

NOTHING = (
    "No plan is saved for this problem. Solve it, then press *Save plan* on the page *Workloads and fleet*: the plan "
    "stays here beside the version that it answers."
)


def show(session: Session, name: str) -> None:
    """Draws the tab."""
    archived = kept_toggle(session, "history.archived_plans", "Show archived plans")
    found = plans(shared_store(), name, archived=archived)
    if not found:
        st.info("No plan of this problem was archived." if archived else NOTHING)
        return
    st.dataframe(plans_table(found), hide_index=True, width="stretch", column_config=COLUMNS, key="saved_plans")
    by_id = {one.id: one for one in found}
    number = choose(session, f"history.plan.{name}", "Plan", list(by_id), words=lambda one: plan_words(by_id[one]))
    plan = by_id[number]
    showing, running, archiving, _ = st.columns([1, 1, 1, 1])
    if showing.button(
        "Show it again", key="show_plan", width="stretch", help="Makes it the plan that all screens show"
    ):
        attempt(partial(_show_again, session, plan))
    if running.button(
        "It runs today", key="plan_runs", width="stretch", help="Transitions to other plans then begin at this one"
    ):
        attempt(partial(_runs, session, plan))
    if archiving.button(
        "Take it out of the archive" if archived else "Archive this plan",
        disabled=not current_identity().may_save,
        key="archive_plan",
        width="stretch",
    ):
        attempt(partial(_unarchive if archived else _archive, session, plan))


def plan_words(plan: SavedPlan) -> str:
    """Returns a plan in a line."""
    cost = "no cost known" if plan.cost_per_hour is None else f"${plan.cost_per_hour:,.2f} per hour"
    note = f": {plan.note}" if plan.note else ""
    return f"{plan.id} — for version {plan.problem.number}, {plan.planner}, {plan.gpus_used} GPUs, {cost}{note}"


def _show_again(session: Session, plan: SavedPlan) -> None:
    answer = _answer(plan)
    session.results["solve"] = Result(answer.problem, answer.plan)
    say(session, f"Plan {plan.id} for {plan.problem} is what the screens show now.")


def _runs(session: Session, plan: SavedPlan) -> None:
    session.running = _answer(plan)
    say(session, f"Plan {plan.id} for {plan.problem} is what runs today, as far as this session goes.")


def _answer(plan: SavedPlan) -> Answer:
    store = shared_store()
    return Answer(problem_at(store, plan.problem), load_plan(store, plan.id))


def _archive(session: Session, plan: SavedPlan) -> None:
    writing.archive_plan(shared_store(), plan.id, by=current_identity())
    say(session, f"Plan {plan.id} is archived.")


def _unarchive(session: Session, plan: SavedPlan) -> None:
    writing.unarchive_plan(shared_store(), plan.id, by=current_identity())
    say(session, f"Plan {plan.id} is in use again.")
