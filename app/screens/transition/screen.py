"""The way from what runs today to the next plan: who is disturbed, what may go wrong, the steps and their times."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from sliceplan.app.charts.service_colours import service_colours
from sliceplan.app.charts.side_by_side import side_by_side_chart
from sliceplan.app.charts.steps import steps_chart
from sliceplan.app.jobs.example_moves import ExampleMoves
from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.jobs.moves import QUICK_STEPS, MoveOptions, PlannedMoves, exchange_moves, plan_moves
from sliceplan.app.screens.transition.fewer_moves import show_fewer_moves
from sliceplan.app.screens.transition.running import choose_running
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.leading import lead_to_files
from sliceplan.app.session.plan_origin import origin_in_words
from sliceplan.app.session.session import Answer, Session, is_same
from sliceplan.app.session.shown import shown
from sliceplan.app.tables.history import changed_in_words
from sliceplan.app.tables.transition import (
    disturbance_in_words,
    meanwhile_in_words,
    steps_table,
    strategies_table,
)
from sliceplan.app.widgets.actions import offer_solve
from sliceplan.app.widgets.files import offer_file
from sliceplan.app.widgets.job_progress import begin, give_up, show_failure, value_of
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.outdated import warn_if_outdated
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.tables import show_table
from sliceplan.app.widgets.texts import listed, literal, sentence
from sliceplan.solver.differences.plans import difference
from sliceplan.solver.differences.problems import changes
from sliceplan.solver.differences.wording import describe_plans
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.transition import Durations, Transition
from sliceplan.solver.transition.risks import Risk
from sliceplan.solver.wording.transition_counts import counts_in_words
from sliceplan.solver.wording.transition_text import duration, few_names
from sliceplan.solver.wording.what_is_proven import summary_and_what_of

from .capacity import show_capacity
from .commands import show_commands
from .example import EXAMPLE, offer_example, show_example

ASKED = Kept["Asked"]("transition.asked")
OPTIONS = Kept["MoveOptions"]("transition.options")
ONLY_CHANGED = Kept[bool]("transition.only_changed")

MOST_ALIKE = 3
"""Risks of one kind that are written out; of the rest, the services are named."""

WINDOW = Kept[tuple[float, float]]("transition.window")

LONG_S = 900
"""Seconds from which on a part of the transition can be chosen to look at."""

TALL = 800
"""Pixels that a picture takes at most before it scrolls by itself."""

DRAINED = "Drained: a partition gets no new requests and finishes the ones it has before it stops."

BADGES = {"high": ":red-badge[high]", "medium": ":orange-badge[medium]", "low": ":gray-badge[low]"}

MARKS = {"high": "▲", "medium": "◆", "low": "●"}
"""Beside the colours, for those who do not tell them apart."""


@dataclass(frozen=True)
class Asked:
    """What the last transition was asked for; the plans are compared as objects, as none is ever changed."""

    old: Plan
    new: Plan
    options: MoveOptions

    def is_for(self, old: Plan, new: Plan, options: MoveOptions) -> bool:
        """Tells whether the same is asked again."""
        return self.old is old and self.new is new and self.options == options


def show(session: Session) -> None:
    """Draws the screen."""
    st.caption(
        "From what runs today to the next plan, step by step, with no service below its rate where there is room. "
        "This page plans and shows; it never runs anything on a node."
    )
    example: ExampleMoves | None = value_of(session, EXAMPLE)
    if session.running is None and example is not None:
        show_example(session, example)
        _show_moves(session, example.moves, Answer(example.problem, example.plan))
        return
    today, following = st.columns(2)
    with today:
        choose_running(session)
    with following:
        _show_next(session)
    running, answer = session.running, session.answer
    if running is None:
        _show_without_running(session, answer)
        return
    if answer is not None and answer.plan.gpus and not is_same(answer.plan, running.plan):
        options = _choose_options(session, running.plan, answer.plan)
        _ask(session, running, answer, options)
        moves: PlannedMoves | None = value_of(session, "transition")
        if moves is None and "transition" not in session.open_jobs:
            _say_why_not(session)
        elif moves is not None:
            problem, before = answer.problem, running.problem
            seen = Answer(shown(session, problem, problem, before), shown(session, problem, answer.plan, before))
            _show_moves(session, shown(session, problem, moves, before), seen)
            _show_downloads(session, moves)
    elif answer is not None and answer.plan.gpus:
        st.info(
            "The next plan is the one that runs today. Change rates, SLOs or the fleet on *Services and fleet* and "
            "press Solve, or find a plan with few moves below."
        )
    show_fewer_moves(session, running)
    show_commands(session)


def _show_without_running(session: Session, answer: Answer | None) -> None:
    """Says what will be here, and offers an example and the plan's files."""
    st.info(
        "Say what runs today: press *Set this plan as what runs*, then change rates and solve again. You will then see "
        "which services are disturbed, what may go wrong, and the steps with their times."
    )
    offer_example(session)
    if answer is not None and answer.plan.gpus:
        st.markdown("**Nothing runs yet?** Then the plan can be applied as it is:")
        st.button("To its files and how to apply them", on_click=lead_to_files, args=(session,), key="to_files")


def _show_next(session: Session) -> None:
    st.header("Next")
    answer = session.answer
    if answer is None:
        offer_solve(session, "No plan yet. Press Solve.", "transition")
        return
    st.markdown(f"**{literal(answer.problem.name)}**: {literal(summary_and_what_of(answer.plan, answer.plan.gap))}")
    st.caption(literal(sentence(origin_in_words(session, answer))))
    running = session.running
    if running is not None and running.problem.name == answer.problem.name and not is_same(running.plan, answer.plan):
        other = changed_in_words(changes(running.problem, answer.problem), answer.problem.labels)
        st.markdown(f"Other than today: {literal(other)}")
    warn_if_outdated(session, answer.problem)


def _choose_options(session: Session, old: Plan, new: Plan) -> MoveOptions:
    chosen: MoveOptions = OPTIONS.of(session, MoveOptions())
    types = sorted({gpu.gpu for plan in (old, new) for gpu in plan.gpus})
    with st.expander("Idle GPUs and how long steps take"):
        idle = {}
        for column, gpu in zip(st.columns(max(len(types), 4)), types, strict=False):
            idle[gpu] = column.number_input(
                f"idle {gpu}",
                min_value=0,
                max_value=10_000,
                value=chosen.idle.get(gpu, 0),
                key=f"transition_idle_{gpu}",
                help="GPUs of this type, beside those of both plans, that may be used on the way",
            )
        times = {}
        columns = st.columns(4)
        for i, (name, field) in enumerate(Durations.model_fields.items()):
            times[name] = columns[i % 4].number_input(
                name.removesuffix("_s").replace("_", " ") + " (s)",
                min_value=0.0,
                max_value=86_400.0,
                value=float(getattr(chosen.durations, name)),
                step=1.0,
                key=f"transition_{name}",
                help=field.description,
            )
        keeps = st.checkbox(
            "MIG instances start where the next plan says",
            value=chosen.keeps_starts,
            key="transition_keeps_starts",
            help="Otherwise they may be elsewhere on their GPU, so that more of what runs can stay.",
        )
    options = MoveOptions({gpu: count for gpu, count in idle.items() if count}, Durations(**times), keeps)
    OPTIONS.keep(session, options)
    return options


def _ask(session: Session, running: Answer, answer: Answer, options: MoveOptions) -> None:
    """Begins to plan the transition as soon as there is another one to plan; never twice the same."""
    asked: Asked | None = ASKED.of(session)
    if asked is not None and asked.is_for(running.plan, answer.plan, options):
        nothing = value_of(session, "transition") is None and "transition" not in session.open_jobs
        if not (nothing and st.button("Plan the transition again", key="transition_again")):
            return
    asked = Asked(running.plan, answer.plan, options)
    ASKED.keep(session, asked)
    WINDOW.forget(session)
    give_up(session, "exchange")
    session.results.pop("exchange", None)
    _submit(session, "transition", f"transition of {answer.problem.name}", plan_moves, asked)
    if "transition" in session.open_jobs:
        # The sidebar was drawn before; another run shows the progress there.
        st.rerun()


def _say_why_not(session: Session) -> None:
    result = session.results.get("transition")
    if result is not None and result.why_not:
        st.error(literal(result.why_not))
    elif result is not None and result.was_cancelled:
        st.info("Planning the transition was stopped before there was one.")


def _show_moves(session: Session, moves: PlannedMoves, answer: Answer) -> None:
    transition = moves.transition
    st.header(literal(counts_in_words(transition)))
    if moves.risks:
        st.markdown(worst_in_a_line(moves.risks))
    _show_figures(moves)
    st.markdown(listed(meanwhile_in_words(transition)))
    _show_risks(moves.risks)
    with st.expander("What differs between the two plans"):
        st.code(describe_plans(difference(moves.old, answer.plan), most=40), language=None, wrap_lines=True)
    if transition.steps:
        _show_side_by_side(session, moves, answer)
        _show_steps(session, moves, answer)


def _show_figures(moves: PlannedMoves) -> None:
    transition = moves.transition
    disturbed = transition.disturbed
    proof = "proven fewest" if disturbed.proven else f"not below {disturbed.fewest}" if disturbed.fewest else ""
    lost = sum(short.lost_requests for short in transition.shortfalls)
    takes, who, kept, short, gpus = st.columns([1.6, 1.2, 1, 1.3, 1])
    takes.metric("Takes about", duration(transition.estimated_s), help="estimated from the durations of steps")
    who.metric(
        "Services disturbed",
        len(disturbed.services),
        delta=proof or None,
        delta_color="off",
        delta_arrow="off",
        help=disturbance_in_words(disturbed),
    )
    kept.metric("Partitions kept", transition.kept, help="they stay as they are and keep serving throughout")
    short.metric(
        "Services below rate",
        len(transition.shortfalls),
        delta=f"{lost:,.0f} requests" if lost else None,
        delta_color="off",
        delta_arrow="off",
        help="services that have less than the lower of their two rates for a while, and the requests that this loses",
    )
    gpus.metric("GPUs at once", transition.peak_gpus, help="GPUs that hold something at once, at most")


def worst_in_a_line(risks: tuple[Risk, ...]) -> str:
    """Returns the gravest kinds of the risks as a line for beside the heading; `risks`: at least one."""
    level = next(one for one in BADGES if any(risk.level == one for risk in risks))
    kinds = dict.fromkeys(risk.what for risk in risks if risk.level == level)
    return f"{MARKS[level]} {BADGES[level]} risk: {literal(', '.join(kinds))}; *Risks* below says where."


def _show_risks(risks: tuple[Risk, ...]) -> None:
    st.header("Risks")
    if not risks:
        st.success("None found: no reset, no mode change, no service short or drained while busy.")
        return
    lines = []
    levels = list(BADGES)
    for what in dict.fromkeys(risk.what for risk in sorted(risks, key=lambda risk: levels.index(risk.level))):
        alike = [risk for risk in risks if risk.what == what]
        begin_with = f"{MARKS[alike[0].level]} {BADGES[alike[0].level]} **{what}**: "
        lines += [begin_with + literal(risk.text) for risk in alike[:MOST_ALIKE]]
        if rest := [name for risk in alike[MOST_ALIKE:] for name in risk.workloads]:
            lines.append(f"{begin_with}and, less so, {literal(few_names(rest))}")
    st.markdown("  \n".join(lines))
    if any("drained" in risk.what for risk in risks):
        st.caption(DRAINED)


def _show_side_by_side(session: Session, moves: PlannedMoves, answer: Answer) -> None:
    st.header("Today and next")
    only_changed = st.toggle(
        "Only GPUs on which something changes",
        value=ONLY_CHANGED.of(session, len(moves.transition.gpus) > 12),
        key="transition_only_changed",
    )
    ONLY_CHANGED.keep(session, only_changed)
    figure = made_once(
        "transition.side_by_side",
        (moves.digest, only_changed, answer.problem, answer.plan),
        lambda: side_by_side_chart(
            moves.transition,
            moves.old,
            moves.assigned,
            service_colours((one.name for one in answer.problem.workloads), answer.plan, moves.old),
            only_changed=only_changed,
        ),
    )
    _show_tall(session, figure, "side-by-side")
    st.caption("Two bars per GPU: today above, next below. Grey parts stay as they are. Point at a part for figures.")


def _show_steps(session: Session, moves: PlannedMoves, answer: Answer) -> None:
    transition = moves.transition
    st.header("Steps")
    window = _choose_window(session, transition)
    figure = made_once("transition.steps", (moves.digest, window), lambda: steps_chart(transition, window))
    _show_tall(session, figure, "steps")
    more = ["Point at a step for what it waits for."]
    if any(step.kind == "drain" for step in transition.steps):
        more.append(DRAINED)
    if transition.resets:
        more.append("Outlined red: the GPU is reset.")
    if transition.shortfalls:
        more.append("Red, at the top: services that have less than they need.")
    if transition.temporary:
        more.append("Hatched: a partition that only bridges the transition.")
    st.caption(f"One row per GPU and one bar per step, in estimated time. {' '.join(more)}")
    show_capacity(session, moves, answer, window)
    with st.expander(f"All {len(transition.steps):,} steps as a table"):
        table = made_once("transition.table", (moves.digest,), lambda: steps_table(transition))
        show_table(table, "steps")
    with st.expander("Against exchange-and-compact, the strategy of MIG-serving"):
        _show_exchange(session, moves)


def _choose_window(session: Session, transition: Transition) -> tuple[float, float] | None:
    """Lets the user look at a part of a long transition; None: all of it."""
    if transition.estimated_s < LONG_S:
        return None
    minutes = math.ceil(transition.estimated_s / 60)
    begin, end = WINDOW.of(session, (0, minutes))
    begin, end = st.slider(
        "Minutes shown",
        0,
        minutes,
        (min(begin, minutes - 1), min(end, minutes)),
        key=f"transition_window_{minutes}",
        help="Only steps that run then, and their GPUs, are drawn.",
    )
    WINDOW.keep(session, (begin, end))
    return (60.0 * begin, 60.0 * max(end, begin + 1))


def _show_exchange(session: Session, moves: PlannedMoves) -> None:
    """Puts the figures of the published strategy beside those of this one; for long transitions, when asked to."""
    exchange = moves.exchange or value_of(session, "exchange")
    asked = ASKED.of(session)
    if exchange is None and len(moves.transition.steps) > QUICK_STEPS and "exchange" not in session.open_jobs:
        show_failure(session.results.get("exchange"))
        if st.button("Plan this strategy too", key="exchange"):
            title = "transition by exchange-and-compact"
            if asked is not None and _submit(session, "exchange", title, exchange_moves, asked):
                st.rerun()
    elif exchange is None and "exchange" not in session.open_jobs:
        st.caption("Exchange-and-compact finds no way between these plans.")
    show_table(
        strategies_table(moves.transition, exchange),
        "exchange",
        columns={"requests lost": st.column_config.NumberColumn("requests lost", format="%.0f")},
    )


def _submit(
    session: Session, purpose: str, title: str, function: Callable[[Plan, Plan, MoveOptions], Any], asked: Asked
) -> bool:
    """Begins a job for what is asked; tells whether it could."""
    answer = session.answer
    if answer is None:
        return False
    try:
        job = shared_jobs().submit(session.user, purpose, title, function, asked.old, asked.new, asked.options)
    except TooManyJobsError as error:
        st.error(literal(str(error)))
        ASKED.forget(session)
        return False
    session.results.pop(purpose, None)
    begin(session, purpose, job, answer.problem)
    return True


def _show_tall(session: Session, figure: go.Figure, name: str) -> None:
    """Shows a picture; one that is taller than a screen scrolls by itself."""
    if figure.layout.height <= TALL:
        show_picture(session, figure, name)
        return
    with st.container(height=TALL):
        show_picture(session, figure, name)


def _show_downloads(session: Session, moves: PlannedMoves) -> None:
    name = session.tables.name
    steps, plan, today, _ = st.columns([1, 1, 1, 0.4])
    offer_file(
        "Download transition",
        moves.json_text,
        name,
        "transition.json",
        key="download_transition",
        place=steps,
        help_text="as `sliceplan transition --json` writes it",
    )
    offer_file(
        "Download next plan, placed",
        moves.assigned_text,
        name,
        "next-plan.json",
        key="download_assigned",
        place=plan,
        help_text="the next plan with the GPUs and places that it gets, as `sliceplan transition --output` writes it",
    )
    offer_file(
        "Download plan of today",
        moves.old_text,
        name,
        "running-plan.json",
        key="download_today",
        place=today,
        help_text="what runs today, as a plan: OLD of `sliceplan transition`, `--current` of `sliceplan-agent plan`",
    )
