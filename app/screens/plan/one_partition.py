"""Details of one partition of the plan: what was clicked in the picture, or chosen from a list by the keyboard."""

from collections.abc import Sequence
from html import unescape

import streamlit as st

from sliceplan.app.charts.fleet_blocks import Block
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.app.session.shown import shown
from sliceplan.app.tables.why_here import why_here
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.texts import literal
from sliceplan.app.widgets.words import meaning
from sliceplan.solver.analysis.costs_by_type import costs_by_type
from sliceplan.solver.analysis.pricing import price_report
from sliceplan.solver.metrics.service_figures import ServiceFigures
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.prices import usd_per_hour_of
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.wording.cores import noun_of
from sliceplan.solver.wording.plain_words import HOURS_A_MONTH

PICKED = Kept[tuple[str, float]]("plan.picked")
"""Where the session keeps the partition: its GPU and where it starts."""

CLICKED = Kept[tuple[int, ...]]("plan.clicked")


def show_partition(
    session: Session,
    problem: Problem,
    plan: Plan,
    blocks: Sequence[Block],
    figures: Sequence[ServiceFigures],
    clicked: list[int],
) -> None:
    """Draws the list to choose from, and what there is to say of the chosen one; `clicked`: numbers of blocks."""
    partitions = {(block.gpu_id, block.start): block for block in blocks if block.is_partition}
    # A click stays in the picture until the next one; what was chosen from the list since is not to be undone by it.
    if tuple(clicked) != CLICKED.of(session, ()):
        CLICKED.keep(session, tuple(clicked))
        if clicked and clicked[0] < len(blocks) and (at := _at(blocks[clicked[0]])) in partitions:
            PICKED.keep(session, at)
            st.session_state["plan.partition"] = at
    kept = PICKED.of(session)
    options = list(partitions)
    if st.session_state.get("plan.partition", kept) not in options:
        st.session_state["plan.partition"] = None
    st.session_state.setdefault("plan.partition", kept)
    chosen = st.selectbox(
        "Details of one partition",
        options,
        format_func=lambda at: f"{at[0]}: {_name(partitions[at])}, {partitions[at].size}",
        key="plan.partition",
        placeholder="Click a partition in the picture, or choose it here",
    )
    if chosen is None:
        PICKED.forget(session)
        return
    PICKED.keep(session, chosen)
    with st.container(border=True):
        noun = next((noun_of(gpu) for gpu in plan.gpus if gpu.id == chosen[0]), "GPU")
        _show(problem, partitions[chosen], noun, [one for one in blocks if one.gpu_id == chosen[0]], figures)
        _say_why(session, plan, partitions[chosen].workloads)


def _show(
    problem: Problem, block: Block, noun: str, beside: Sequence[Block], figures: Sequence[ServiceFigures]
) -> None:
    """Draws what there is to say of a partition of a GPU or a CPU, as `noun` says."""
    st.markdown(f"**{literal(_name(block))}** on {literal(block.size)} of {literal(block.gpu_id)}")
    st.markdown("\n".join(f"- {literal(line.strip())}" for line in _lines(block.hover)))
    price = usd_per_hour_of(problem).get(block.gpu_id.rsplit("/", 1)[0])
    if price is not None:
        hourly = price * block.width
        st.markdown(
            literal(
                f"It takes {block.width:.0%} of the {noun}, which is ${hourly:,.2f} of its ${price:,.2f} per hour: "
                f"${hourly * HOURS_A_MONTH:,.0f} per month."
            )
        )
    for one in figures:
        if one.name in block.workloads:
            places = ", ".join(f"{count} x {kind}" if count > 1 else kind for kind, count in one.places.items())
            st.markdown(
                literal(
                    f"{one.name} runs {one.model} at {one.required_rps:,.0f} requests/s within {one.slo_ms:g} ms. "
                    f"In all it has {places}, which carry {one.capacity_rps:,.0f} requests/s."
                )
            )
    others = list(dict.fromkeys(name for one in beside if one is not block for name in one.workloads))
    st.caption(literal(f"On the same {noun}: {', '.join(others)}." if others else f"Alone on its {noun}."))


def _say_why(session: Session, plan: Plan, names: Sequence[str]) -> None:
    """Says of each service on a partition why it has its partitions; nothing where the plan has no prices."""
    answer = session.answer
    if answer is None or shown(session, answer.problem, answer.plan) is not plan:
        return
    problem, found = answer.problem, answer.plan
    priced = made_once("compare.prices", (found,), lambda: price_report(problem, found, known_profiles()))
    report = shown(session, problem, priced)
    if priced is None or report is None:
        return
    by_type = made_once("compare.types", (found,), lambda: costs_by_type(problem, found, known_profiles()))
    number = {workload.name: w for w, workload in enumerate(problem.workloads)}
    for key, cost in zip(priced.services, report.services, strict=True):
        if cost.workload in names:
            on_each = {gpu: float(of[number[key.workload]]) for gpu, of in by_type.items()}
            whose = f"Why {cost.workload} has these" if len(names) > 1 else "Why here"
            why = why_here(cost, plan, on_each)
            st.markdown(f"**{literal(whose)}:** {literal(why)}", help=meaning("price of a partition"))


def _lines(hover: str) -> list[str]:
    """Returns the lines of a hover but its title and place, without marks."""
    return [unescape(line.replace("<b>", "").replace("</b>", "")) for line in hover.split("<br>")[2:]]


def _name(block: Block) -> str:
    return " and ".join(block.workloads) or block.size


def _at(block: Block) -> tuple[str, float]:
    return block.gpu_id, block.start
