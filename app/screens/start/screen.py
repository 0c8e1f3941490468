"""Start: what sliceplan does, shown on an answer, and three doors to go on by."""

import streamlit as st

from sliceplan.app.charts.fleet import fleet_chart
from sliceplan.app.session.deep_link import WHAT_IF
from sliceplan.app.session.leading import lead_to
from sliceplan.app.session.session import Answer, Session
from sliceplan.app.session.shown import shown
from sliceplan.app.tables.without_sharing import without_sharing
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.texts import literal
from sliceplan.app.widgets.words import meaning
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.what_if import WhatIf
from sliceplan.solver.model.words import boards_in_words, boards_of, counted
from sliceplan.solver.wording.plain_words import HOURS_A_MONTH, in_plain_words
from sliceplan.solver.wording.promise import promise_in_words
from sliceplan.solver.wording.summary import plan_summary

from .own_services import ask_for_services, open_and_solve

SENTENCE = (
    "Which GPUs to rent, how to divide them, and which service runs where, so that every service keeps its rate and "
    "its latency at the least cost: found in seconds, and proven."
)

EXAMPLES = {
    "demo": "A100s cut by MIG",
    "igniter": "V100s shared by MPS",
    "mixed": "Three GPU types, mixed",
    "parvagpu-s6": "High rates",
}
"""Four that differ, and what each is."""

CHANGES = {
    "Twice the traffic?": WhatIf(rate=2.0),
    "Half the traffic?": WhatIf(rate=0.5),
    "Half the latency?": WhatIf(slo=0.5),
}

MOST_DRAWN = 12
"""GPUs in the picture; the screen Plan draws them all."""


def show(session: Session) -> None:
    """Draws the screen."""
    st.markdown(SENTENCE)
    answer = session.answer
    with st.container(border=True):
        if answer is None or not answer.plan.gpus:
            st.markdown("The plan of the example is on its way." if session.open_jobs else _without_plan(answer))
        else:
            _show_answer(session, answer)
    own, example, changed = st.columns(3)
    with own.container(border=True, height="stretch"):
        st.header("My services")
        st.markdown("Paste rows from a spreadsheet, upload a file, or type one.")
        if st.button("Plan my services", key="door_own", type="primary", width="stretch"):
            ask_for_services(session)
        st.button(
            "Fill in the tables", key="door_tables", width="stretch", on_click=lead_to, args=(session, "workloads")
        )
    with example.container(border=True, height="stretch"):
        st.header("An example")
        for name, what in EXAMPLES.items():
            problem = _examples()[name]
            st.button(
                f"{what}: {len(problem.workloads)} services",
                key=f"door_{name}",
                width="stretch",
                on_click=open_and_solve,
                args=(session, problem),
            )
    with changed.container(border=True, height="stretch"):
        st.header("What if")
        st.markdown("Change one thing of what is shown above and see the new plan at once.")
        can_change = answer is not None and bool(answer.plan.gpus) and not session.is_outdated(answer.problem)
        for what, changes in CHANGES.items():
            st.button(
                what,
                key=f"door_{what}",
                width="stretch",
                disabled=not can_change,
                on_click=_what_if,
                args=(session, changes),
            )


def _without_plan(answer: Answer | None) -> str:
    if answer is None:
        return "Press *Solve* for the plan of what the tables state, or choose one of these:"
    return literal(plan_summary(answer.plan, answer.plan.gap))


def _show_answer(session: Session, answer: Answer) -> None:
    problem, plan = answer.problem, answer.plan
    hourly = plan.cost_per_hour
    alone = made_once("start.alone", (problem,), lambda: without_sharing(problem))
    demo = "An example, solved: " if problem == _examples().get(problem.name) else ""
    st.header(literal(_headline(demo, problem, plan, alone)))
    cost, simple, saved = st.columns(3)
    cost.metric("It costs", _usd(hourly), _monthly(hourly), delta_color="off", delta_arrow="off")
    if alone is not None and alone.cost_per_hour and hourly is not None:
        simple.metric(
            "Without sharing",
            _usd(alone.cost_per_hour),
            _monthly(alone.cost_per_hour),
            delta_color="off",
            delta_arrow="off",
            help="a whole GPU, or several, for each service",
        )
        less = alone.cost_per_hour - hourly
        saved.metric(
            "Sharing saves", f"{less / alone.cost_per_hour:.0%}", _monthly(less), delta_color="off", delta_arrow="off"
        )
    else:
        simple.metric(
            "Without sharing", "no plan", help="none with whole GPUs for each service was found on this fleet"
        )
    st.markdown(f"**How good that is:** {literal(in_plain_words(problem, plan).proof)}", help=meaning("proven least"))
    st.markdown(f"**What is promised:** {literal(promise_in_words(plan.promise))}.", help=meaning("promise"))
    seen, called = shown(session, problem, plan), shown(session, problem, problem)
    drawn = seen.gpus[:MOST_DRAWN]
    show_picture(session, made_once("start.fleet", (seen, called), lambda: fleet_chart(seen, called, drawn)), "fleet")
    left = len(plan.gpus) - len(drawn)
    st.caption(
        "Each bar is a GPU, each colour a service, to scale. Point at a part for its batch, latency and load."
        + (f" {left:,} more GPUs are on the screen Plan." if left else "")
    )
    st.button("See all of this plan", key="door_plan", on_click=lead_to, args=(session, "plan"))


def _headline(which: str, problem: Problem, plan: Plan, alone: Plan | None) -> str:
    instead = ""
    if alone is not None and len(alone.gpus) > len(plan.gpus):
        has_cpus = boards_of((*plan.gpus, *alone.gpus))[1] > 0
        instead = f" instead of {boards_in_words(alone.gpus) if has_cpus else f'{len(alone.gpus):,}'}"
    said = f"{counted(len(problem.workloads), 'service')} on {boards_in_words(plan.gpus)}{instead}"
    return f"{which}{said}" if which else f"{problem.name}: {said}"


def _usd(hourly: float | None) -> str:
    return "unknown" if hourly is None else f"${hourly:,.2f} / hour"


def _monthly(hourly: float | None) -> str | None:
    return None if hourly is None else f"${hourly * HOURS_A_MONTH:,.0f} per month"


def _what_if(session: Session, changes: WhatIf) -> None:
    WHAT_IF.keep(session, changes)
    session.editor += 1
    lead_to(session, "what-if")


@st.cache_resource
def _examples() -> dict[str, Problem]:
    return example_problems()
