"""The fleet as a picture: each GPU to scale, or of many those that are divided alike drawn once, which opens."""

import streamlit as st

from sliceplan.app.charts.alike_fleet import Alike, alike, alike_chart
from sliceplan.app.charts.fleet import MOST_IN_LEGEND, fleet_chart
from sliceplan.app.charts.fleet_blocks import blocks_of
from sliceplan.app.charts.gpu_bars import MOST_DRAWN, MOST_ROWS
from sliceplan.app.charts.legends import legend_of
from sliceplan.app.charts.shades import ColourBy
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.app.tables.plan import GpuFilter
from sliceplan.app.widgets.choosing import choose_one
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.words import meaning
from sliceplan.solver.metrics.service_figures import service_figures
from sliceplan.solver.model.plan import Plan, PlannedGpu
from sliceplan.solver.model.problem import Problem

from .one_partition import show_partition

TOGETHER, ONE_BY_ONE = "Identical GPUs together", "All, one by one"

SHOWN = "plan.alike"
"""Which GPUs are drawn: a name of a kind, or one of the two above."""

OUT_OF_REACH = f" Out of reach: {meaning('out of reach')}"

OPENED = Kept[tuple[int, ...]]("plan.alike_clicked")


def show_fleet(session: Session, problem: Problem, plan: Plan, chosen: GpuFilter, by: ColourBy) -> None:
    """Draws the GPUs that are chosen, and all about the partition that was clicked; `by`: what colours say."""
    gpus = chosen.gpus_of(plan)
    if len(gpus) > MOST_ROWS:
        kinds = made_once("plan.kinds", (plan, chosen), lambda: alike(gpus))
        _open_what_was_clicked(session, kinds)
        options = [TOGETHER, *(kind.name for kind in kinds), ONE_BY_ONE]
        which = choose_one(session, SHOWN, f"GPUs, of {len(gpus):,}", options)
        if which == TOGETHER:
            _show_together(session, problem, plan, kinds, by)
            return
        gpus = next((list(kind.gpus) for kind in kinds if kind.name == which), gpus)
    _show_each(session, problem, plan, chosen, gpus, by)


def _show_together(session: Session, problem: Problem, plan: Plan, kinds: list[Alike], by: ColourBy) -> None:
    of = (plan, problem, tuple(kind.name for kind in kinds), by)
    show_picture(
        session,
        made_once("plan.together", of, lambda: alike_chart(plan, problem, kinds, colour_by=by)),
        "alike",
        can_pick=True,
    )
    more = f" The {len(kinds) - MOST_ROWS:,} rarest kinds are only in the list." if len(kinds) > MOST_ROWS else ""
    st.caption(
        "Each row stands for all GPUs that are divided alike, to scale; grey parts belong to several services. Point "
        "at a part for "
        f"its services and loads; click a row, or choose it above, to see its GPUs one by one.{more}"
    )


def _open_what_was_clicked(session: Session, kinds: list[Alike]) -> None:
    """Chooses the kind whose row was clicked, before the choice is drawn; a click counts once."""
    state = st.session_state.get("alike")
    points = tuple(point["point_index"] for point in state["selection"]["points"]) if state else ()
    if points == OPENED.of(session, ()):
        return
    OPENED.keep(session, points)
    numbers = [row for row, kind in enumerate(kinds[:MOST_ROWS])]
    rows = [point.get("y") for point in state["selection"]["points"]] if state else []
    if rows and rows[0] in numbers:
        st.session_state[SHOWN] = kinds[int(rows[0])].name


def _show_each(
    session: Session, problem: Problem, plan: Plan, chosen: GpuFilter, gpus: list[PlannedGpu], by: ColourBy
) -> None:
    first = 0
    if len(gpus) > MOST_DRAWN:
        first = choose_one(
            session,
            "plan.page",
            f"Of these {len(gpus):,}",
            list(range(0, len(gpus), MOST_DRAWN)),
            lambda start: f"{start + 1:,} to {min(start + MOST_DRAWN, len(gpus)):,}",
        )
    drawn = gpus[first:][:MOST_DRAWN]
    of = (plan, problem, chosen, tuple(gpu.id for gpu in drawn[:1]), len(drawn))
    figure = made_once(
        "plan.fleet", (*of, by), lambda: fleet_chart(plan, problem, drawn, chosen.services, colour_by=by)
    )
    clicked = show_picture(session, figure, "fleet", can_pick=True)
    has_cpus = any(gpu.sharing == "cores" for gpu in drawn)
    st.caption(
        f"Each bar is {'a GPU or a CPU' if has_cpus else 'a GPU'}, to scale, divided into partitions. "
        + ("Thin lines on a CPU part its L3 domains. " if has_cpus else "")
        + "Point at a partition for its service, batch, processes, "
        "latency against SLO and load; click it for details."
        + (OUT_OF_REACH if any(one.name == "out of reach" for one in legend_of(figure)[0]) else "")
        + (
            f" Of {len(problem.workloads):,} services, colours tell neighbours apart; choose a service to find it."
            if len(problem.workloads) > MOST_IN_LEGEND
            else ""
        )
    )
    blocks = made_once("plan.blocks", of, lambda: blocks_of(plan, problem, drawn))
    figures = made_once("plan.figures", (problem, plan), lambda: service_figures(problem, plan))
    show_partition(session, problem, plan, blocks, figures, clicked)
