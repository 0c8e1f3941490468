"""Start: what sliceplan does, three doors to go on by, and an answer that shows it."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from sliceplan.app.charts.fleet import fleet_chart
from sliceplan.app.charts.legends import legend_of
from sliceplan.app.profiles.left_out import left_out_in_words
from sliceplan.app.session.deep_link import WHAT_IF
from sliceplan.app.session.leading import lead_to
from sliceplan.app.session.session import Answer, Session
from sliceplan.app.session.shown import shown
from sliceplan.app.tables.one_gpu_less import saves_no_gpu
from sliceplan.app.tables.promise import promise_at_first
from sliceplan.app.tables.without_sharing import without_sharing
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.texts import literal, sentence
from sliceplan.app.widgets.words import PROMISE, meaning
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.judged import judged
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.what_if import WhatIf
from sliceplan.solver.model.words import boards_in_words, boards_of, counted
from sliceplan.solver.wording.plain_words import HOURS_A_MONTH, in_plain_words
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
    "capacity": "Most requests on 4 A100s",
}
"""Four that differ, and what each is."""

CHANGES = {
    "Twice the traffic?": WhatIf(rate=2.0),
    "Half the traffic?": WhatIf(rate=0.5),
    "Half the latency?": WhatIf(slo=0.5),
}

OF_MIG = (
    "A GPU cut by MIG is drawn by its memory: it may have free memory without compute to go with it. A size such as "
    "1g.10gb is 1 of 7 compute slices with 10 GB. "
)

FREE_SAVES_NO_GPU = (
    "**Why not one GPU less?** Without any one of these GPUs, the services do not fit on the others, however they are "
    "divided: this is proven. What is free is what is left over."
)

MOST_DRAWN = 12
"""GPUs in the picture; the screen Plan draws them all."""


def show(session: Session) -> None:
    """Draws the screen."""
    st.markdown(SENTENCE)
    answer = session.answer
    _show_doors(session, answer)
    with st.container(border=True):
        if answer is None or not answer.plan.gpus:
            st.markdown("The plan of the example is on its way." if session.open_jobs else _without_plan(answer))
        else:
            _show_answer(session, answer)


def _show_doors(session: Session, answer: Answer | None) -> None:
    """Draws the ways on, above the answer: a small window shows no more than both."""
    own, example, changed = st.container(key="beside_doors").columns(3)
    meaning_of_own = "Paste rows from a spreadsheet, upload a file, or type one."
    if own.button("Plan my services", key="door_own", type="primary", width="stretch", help=meaning_of_own):
        ask_for_services(session)
    with example.popover("Another example", width="stretch"):
        for name, what in EXAMPLES.items():
            problem = _examples()[name]
            st.button(
                f"{what}: {len(problem.workloads)} services",
                key=f"door_{name}",
                width="stretch",
                on_click=open_and_solve,
                args=(session, problem),
            )
    with changed.popover("What if?", width="stretch"):
        st.markdown("Change one thing and see the new plan at once.")
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
        return "Press *Solve* to plan what is in the tables, or choose another example above."
    return literal(plan_summary(answer.plan, answer.plan.gap))


def _show_answer(session: Session, answer: Answer) -> None:
    problem, plan = answer.problem, answer.plan
    hourly = plan.cost_per_hour
    alone = made_once("without_sharing", (problem,), lambda: without_sharing(problem))
    demo = "An example, solved: " if problem == _examples().get(problem.name) else ""
    st.header(literal(_headline(demo, problem, plan, alone)))
    if without := left_out_in_words(problem):
        st.warning(f"{literal(without)}. The screen *Plan* offers estimates of their speeds.")
    cost, second, third = st.columns(3)
    cost.metric("It costs", _usd(hourly), _monthly(hourly), delta_color="off", delta_arrow="off")
    if plan.capacity is None:
        _show_saved(second, third, hourly, None if alone is None else alone.cost_per_hour)
    else:
        _show_capacity(second, third, plan)
    st.markdown(f"**What is proven:** {literal(in_plain_words(problem, plan).proof)}", help=meaning("proven least"))
    st.markdown(f"**What is promised:** {literal(sentence(promise_at_first(problem, plan)))}", help=PROMISE)
    seen, called = shown(session, problem, plan), shown(session, problem, problem)
    drawn = seen.gpus[:MOST_DRAWN]
    picture = made_once("start.fleet", (seen, called), lambda: fleet_chart(seen, called, drawn))
    show_picture(session, picture, "fleet")
    if saves_no_gpu(plan) and any(one.name == "free" for one in legend_of(picture)[0]):
        st.markdown(FREE_SAVES_NO_GPU)
    left = len(plan.gpus) - len(drawn)
    st.caption(
        "Each bar is a GPU, divided into partitions to scale; each colour is a service. "
        + (OF_MIG if any(gpu.sharing == "mig" for gpu in drawn) else "")
        + "Point at a partition for its batch, latency and load."
        + (f" {left:,} more GPUs are on the screen Plan." if left else "")
    )
    with st.container(horizontal=True):
        st.button("See all of this plan", key="door_plan", on_click=lead_to, args=(session, "plan"))
        st.button("Change its services and GPUs", key="door_tables", on_click=lead_to, args=(session, "workloads"))


def _show_saved(second: DeltaGenerator, third: DeltaGenerator, hourly: float | None, alone: float | None) -> None:
    """Draws what a whole GPU for each service would cost, and how much less this is; `alone`: USD, None: no plan."""
    if not alone or hourly is None:
        second.metric(
            "Without sharing", "no plan", help="none with whole GPUs for each service was found on this fleet"
        )
        return
    second.metric(
        "Without sharing",
        _usd(alone),
        _monthly(alone),
        delta_color="off",
        delta_arrow="off",
        help="a whole GPU, or several, for each service",
    )
    less = alone - hourly
    third.metric("Sharing saves", f"{less / alone:.0%}", _monthly(less), delta_color="off", delta_arrow="off")


def _show_capacity(second: DeltaGenerator, third: DeltaGenerator, plan: Plan) -> None:
    """Draws what the GPUs could carry, and what is proven of that."""
    own = judged(plan)
    for place, title, figure in ((second, "Could carry", own.value), (third, "Proven most", own.bound)):
        place.metric(f"{title}, {own.objective.unit}", "unknown" if figure is None else own.objective.figure(figure))


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
