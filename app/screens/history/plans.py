"""The plans that are saved for a problem: show one again, or state that it runs today."""

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
    "No plan is saved for this problem. Solve it, then press *Save plan* on the page *Services and fleet*: the plan "
    "stays here beside the version that it answers."
)


def show(session: Session, name: str) -> None:
    """Draws the tab."""
    kind = Kind("plan", NOTHING, plans, plans_table, plan_words, writing.archive_plan, writing.unarchive_plan)
    again = Act("Show it again", "show_plan", "Makes it the plan that all screens show", _show_again)
    runs = Act("It runs today", "plan_runs", "Transitions to other plans then begin at this one", _runs)
    show_saved(session, name, kind, (again, runs))


def plan_words(plan: SavedPlan) -> str:
    """Returns a plan in a line."""
    cost = "no cost known" if plan.cost_per_hour is None else f"${plan.cost_per_hour:,.2f} per hour"
    note = f": {plan.note}" if plan.note else ""
    return f"{plan.id} — version {plan.problem.number}, {cost}{note}"


def _show_again(session: Session, plan: SavedPlan) -> None:
    answer = _answer(plan)
    note_origin(session, answer.plan, _saved(plan))
    take_answer(session, answer)
    say(session, f"Plan {plan.id} for {plan.problem} is what the screens show now.")


def _runs(session: Session, plan: SavedPlan) -> None:
    session.running = _answer(plan)
    note_origin(session, session.running.plan, _saved(plan))
    say(session, f"Plan {plan.id} for {plan.problem} is what runs today, as far as this session goes.")


def _saved(plan: SavedPlan) -> str:
    return f"plan {plan.id} for {plan.problem}, {saved_in_words(plan.saved_at, plan.author)}"


def _answer(plan: SavedPlan) -> Answer:
    store = shared_store()
    return Answer(problem_at(store, plan.problem), load_plan(store, plan.id))
