"""The plans that are saved for a problem: show one again, or state that it runs today."""

from collections.abc import Sequence

import pandas as pd

from sliceplan.app.access import writing
from sliceplan.app.session.plan_origin import note_origin, saved_in_words
from sliceplan.app.session.session import Answer, Session, take_answer
from sliceplan.app.store.plans import load_plan, plans
from sliceplan.app.store.records import SavedPlan
from sliceplan.app.store.shared import problem_at, shared_store
from sliceplan.app.tables.history import plans_table

from .choosing import say
from .saved import Act, Kind, show_saved

NOTHING = (
    "No plan is saved for this problem. Solve it, then press *Save plan* on the screen *Services and fleet*: the plan "
    "is kept here beside the version that it answers."
)


def show(session: Session, name: str) -> None:
    """Draws the tab."""
    kind = Kind("plan", NOTHING, plans, _table, plan_words, writing.archive_plan, writing.unarchive_plan)
    again = Act("Show this plan", "show_plan", "Makes it the plan that all screens show", _show_again)
    runs = Act("Set as what runs now", "plan_runs", "Transitions to other plans then start from this one", _runs)
    show_saved(session, name, kind, (again, runs))


def _table(found: Sequence[SavedPlan]) -> pd.DataFrame:
    store = shared_store()
    versions = {plan.problem for plan in found}
    with_cpus = any(entry.cpu is not None for version in versions for entry in problem_at(store, version).fleet)
    return plans_table(found, "GPUs and CPUs" if with_cpus else "GPUs")


def plan_words(plan: SavedPlan) -> str:
    """Returns a plan in a line."""
    cost = "no cost known" if plan.cost_per_hour is None else f"${plan.cost_per_hour:,.2f} per hour"
    note = f": {plan.note}" if plan.note else ""
    return f"{plan.id} — version {plan.problem.number}, {cost}{note}"


def _show_again(session: Session, plan: SavedPlan) -> None:
    answer = _answer(plan)
    note_origin(session, answer.plan, _saved(plan))
    take_answer(session, answer)
    say(session, f"All screens now show plan {plan.id} for {plan.problem}.")


def _runs(session: Session, plan: SavedPlan) -> None:
    session.running = _answer(plan)
    note_origin(session, session.running.plan, _saved(plan))
    say(session, f"Plan {plan.id} for {plan.problem} is now set as what runs, in this session.")


def _saved(plan: SavedPlan) -> str:
    return f"plan {plan.id} for {plan.problem}, {saved_in_words(plan.saved_at, plan.author)}"


def _answer(plan: SavedPlan) -> Answer:
    store = shared_store()
    return Answer(problem_at(store, plan.problem), load_plan(store, plan.id))
