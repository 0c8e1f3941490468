"""The live what-if: sliders on the left, on the right the new plan beside the problem's, its figures in sight."""

from collections.abc import Sequence

import streamlit as st

from sliceplan.app.charts.fleet import fleet_chart
from sliceplan.app.charts.layouts import layout_chart
from sliceplan.app.jobs.jobs import TooManyJobsError
from sliceplan.app.jobs.what_if_calls import live_limit_s
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.leading import draw_again
from sliceplan.app.session.session import Answer, Session, open_problem, take_answer
from sliceplan.app.session.shown import shown as with_labels
from sliceplan.app.tables.what_if import moved_table
from sliceplan.app.widgets.actions import offer_solve, solve_now
from sliceplan.app.widgets.boards import show_boards
from sliceplan.app.widgets.job_progress import show_failure
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.parts import part
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.tables import show_table
from sliceplan.app.widgets.texts import literal, sentence
from sliceplan.solver.differences.plans import Move, moves, places
from sliceplan.solver.metrics.layouts import layouts
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.model.what_if import WhatIf
from sliceplan.solver.model.words import counted
from sliceplan.solver.what_if.changes import description
from sliceplan.solver.wording.plain_words import HOURS_A_MONTH
from sliceplan.solver.wording.reasons import reasons
from sliceplan.solver.wording.summary import whose_prices
from sliceplan.solver.wording.what_is_proven import result_and_what_of, summary_and_what_of

from .linking import show_link, want_link
from .replanning import is_current, replanned
from .sliders import CHOSEN, edited_changes
from .state import CHANGES, PURPOSE, changes_of, set_changes

EVERY_GPU = Kept[bool]("what_if.every_gpu")
FEW_GPUS = 40
"""Plans of up to so many GPUs are drawn GPU by GPU from the start."""

LETTERS = 62
"""That fit into a GPU's row beside the sliders where the page is 1,280 px wide."""

MOST_REASONS = 3
"""Reasons that are shown where there is no plan."""

SOLVED = Kept[Problem]("what_if.solved")
"""The problem that was solved unasked."""


def show_live(session: Session) -> None:
    """Draws the sliders beside what comes of them, or says what is missing."""
    problem, answer = session.problem, session.answer
    if problem is None:
        st.info("Something in the tables is wrong: see *Services and fleet*.")
        return
    if answer is None or session.is_outdated(answer.problem):
        _ask_for_base(session)
        return
    if not answer.plan.gpus:
        st.info("There is no plan to change: " + literal(summary_and_what_of(answer.plan, answer.plan.gap)))
        return
    _show_sliders(session, answer)


@part
def _show_sliders(session: Session, answer: Answer) -> None:
    """Draws the sliders and what comes of them, by itself, so that a moved slider draws no more than this."""
    now = session.answer
    if now is None or now.plan is not answer.plan:  # a button here has changed what all of the page is about
        draw_again(session)
    in_a_line = st.container(key="result_on_a_phone")
    left, right = st.columns([1, 2], gap="medium")
    with left:
        changes = edited_changes(session, answer.problem, answer.plan, changes_of(session, answer.problem))
    CHANGES.keep(session, changes)
    with right:
        shown = _show_effect(session, answer, changes)
    if shown is not None:
        in_a_line.markdown(_in_a_line(answer, shown, changes))


def _ask_for_base(session: Session) -> None:
    """Solves the problem for who comes with changes, by a link or after an edit; tells the others what to press."""
    problem = session.problem
    show_failure(session.results.get("solve"))
    if problem is not None and not changes_of(session, problem).is_empty:
        if "solve" not in session.open_jobs and SOLVED.of(session) is not problem:
            SOLVED.keep(session, problem)
            try:
                solve_now(session, problem)
            except TooManyJobsError as error:
                st.error(literal(str(error)))
                return
            st.rerun()
        if "solve" in session.open_jobs:
            st.info("The problem is being solved; the what-if comes next.")
            return
    offer_solve(
        session,
        "Press Solve. Then move a slider (load, SLO, prices, number of GPUs) and see at once what the fleet would cost,"
        " how many GPUs it takes, and which services move. Your problem stays as it is until you press *Use these "
        "values*.",
        "what_if",
    )


def _show_effect(session: Session, base: Answer, changes: WhatIf) -> Answer | None:
    """Draws what comes of the changes, and returns the plan that it shows; None: there is none yet."""
    said = literal(description(with_labels(session, base.problem, changes)))
    st.markdown("**Move a slider to begin.**" if changes.is_empty else f"**What if:** {said}")
    try:
        shown = replanned(session, base, changes)
    except InputError as error:
        st.error(literal("; ".join(f"{finding.path} {finding.message}" for finding in error.findings)))
        return None
    show_failure(session.results.get(PURPOSE) if not changes.is_empty else None)
    if shown is None:
        st.info("The first plan is being found.")
        return None
    if not is_current(session, shown):
        st.info("The plan for these changes is being found; this is the one before.")
    with st.container(key="result_beside_sliders"):
        _show_figures(base, shown)
    _say_more(base, shown)
    if shown.plan.search.stopped == StopReason.TIME_LIMIT and shown is not base:
        st.caption(_cut_short(shown.problem))
    _offer(session, shown, changes)
    if not shown.plan.gpus:
        for line in reasons(with_labels(session, base.problem, shown.plan))[:MOST_REASONS]:
            st.warning(literal(line))
        return shown
    plans = with_labels(session, base.problem, base.plan), with_labels(session, base.problem, shown.plan)
    st.markdown("**How GPUs are cut, before and after**")
    before = made_once("what_if.before", plans[:1], lambda: layouts(plans[0]))
    show_picture(
        session, made_once("what_if.layouts", plans, lambda: layout_chart(before, layouts(plans[1]))), "what-if-gpus"
    )
    st.caption("Each pair of bars is one way to divide a GPU; their lengths are the numbers of GPUs divided that way.")
    if shown is not base:
        ran = made_once("what_if.places", plans[:1], lambda: places(plans[0]))
        _show_moves(made_once("what_if.moves", plans, lambda: moves(ran, places(plans[1]))))
    _show_every_gpu(session, shown)
    return shown


def _in_a_line(base: Answer, shown: Answer, changes: WhatIf) -> str:
    """Returns what comes of the changes in a few words, as Markdown."""
    old, new = base.plan, shown.plan
    if not new.gpus:
        return "**No plan**; the reason is below."
    cost = literal(f"{counted(new.gpus_used, 'GPU')}, {_usd(new.cost_per_hour)} per hour")
    if changes.is_empty:
        return f"**{cost}**"
    return f"**{cost}**, {literal(_delta(new.cost_per_hour, old.cost_per_hour) or 'as much as before')}"


def _show_figures(base: Answer, shown: Answer) -> None:
    old, new = base.plan, shown.plan
    st.header(literal(result_and_what_of(new, new.gap)))
    cost, gpus, bound = st.columns(3)
    cost.metric("Cost per hour", _usd(new.cost_per_hour), _delta(new.cost_per_hour, old.cost_per_hour), "inverse")
    show_boards(gpus, new.gpus, before=old.gpus)
    if new.status is Status.OPTIMAL:  # the bound would repeat the cost
        bound.metric("Proven", "cheapest", help="no plan for this problem costs less per hour")
        return
    bound.metric(
        "Proven: at least",
        _usd(new.bound.cost_per_hour),
        _delta(new.bound.cost_per_hour, old.bound.cost_per_hour),
        "off",
        help="no plan for this problem costs less per hour",
    )


def _say_more(base: Answer, shown: Answer) -> None:
    old, new = base.plan, shown.plan
    monthly = "" if new.cost_per_hour is None else f"${new.cost_per_hour * HOURS_A_MONTH:,.0f} per month of 730 hours. "
    prices = whose_prices(new)
    beside = "" if new is old else f"Beside the problem as it is: {result_and_what_of(old, old.gap)}."
    said = f"{monthly}{beside}".strip()
    st.caption(literal(f"{said} {sentence(prices)}" if prices else said))


def _cut_short(problem: Problem) -> str:
    limit_s = live_limit_s(problem)
    more = f"; *Use these values* and *Solve* search for {problem.settings.time_limit_s:g} s"
    return (
        f"Searched for {limit_s:g} s, as sliders are: a better plan may exist, by no more than the gap says"
        f"{more if problem.settings.time_limit_s > limit_s else ''}."
    )


def _offer(session: Session, shown: Answer, changes: WhatIf) -> None:
    """Draws what can be done; callbacks, as a job that ends while a press arrives draws the page anew and loses it."""
    row = st.container(horizontal=True)
    idle = changes.is_empty
    row.button(
        "Use these values",
        key="what_if_adopt",
        disabled=idle or not is_current(session, shown),
        help="The tables then state these changes; undo has the earlier ones.",
        on_click=_adopt,
        args=(session, shown),
    )
    row.button("Reset", key="what_if_reset", disabled=idle, on_click=_reset, args=(session,))
    problem = session.problem
    if problem is None:
        return
    row.button(
        "Copy link",
        key="what_if_link",
        help="An address that reopens this what-if, copied where your browser lets this page do so",
        on_click=want_link,
        args=(session,),
    )
    show_link(session, problem, changes)


def _adopt(session: Session, shown: Answer) -> None:
    open_problem(session, shown.problem, session.saved_as)
    take_answer(session, shown)
    set_changes(session, WhatIf())


def _reset(session: Session) -> None:
    set_changes(session, WhatIf())
    CHOSEN.forget(session)


def _show_moves(moved: Sequence[Move]) -> None:
    """Draws how many services move, and which ones while that is open: a table at every move of a slider is slow."""
    counts = sum(len(move.old) != len(move.new) for move in moved)
    others = len(moved) - counts
    changed = f"{counted(counts, 'service')} {'has' if counts == 1 else 'have'} another number of places"
    text = f"{changed}; {others:,} {'moves' if others == 1 else 'move'} to other sizes or GPUs"
    opened = st.expander(text, key="what_if_moved", on_change="rerun")
    if not opened.open:
        return
    with opened:
        if moved:
            show_table(moved_table(moved), "what_if_moves")
        else:
            st.caption("Every service stays on the same kinds of partitions.")


def _show_every_gpu(session: Session, shown: Answer) -> None:
    chosen = EVERY_GPU.of(session, shown.plan.gpus_used <= FEW_GPUS)
    every = st.toggle("Draw every GPU", value=chosen, key=f"every_gpu_{session.editor}")
    if every != chosen:
        EVERY_GPU.keep(session, every)
    if every:
        problem = with_labels(session, shown.problem, shown.problem)
        plan = with_labels(session, shown.problem, shown.plan)
        show_picture(session, fleet_chart(plan, problem, letters=LETTERS), "what-if-fleet")


def _usd(amount: float | None) -> str:
    return "none" if amount is None else f"${amount:,.2f}"


def _delta(new: float | None, old: float | None) -> str | None:
    if new is None or old is None or abs(new - old) < 0.005:
        return None
    part = f" ({new / old - 1:+.1%})" if old else ""
    return f"{'+' if new > old else '-'}${abs(new - old):,.2f}{part}"
