"""What is left of each GPU, what still fits there, and what moving services would win."""

from collections.abc import Sequence

import streamlit as st
from plotly.graph_objects import Figure

from sliceplan.app.charts.compute_map import compute_map, compute_parts
from sliceplan.app.charts.gpu_bars import MOST_DRAWN
from sliceplan.app.charts.slice_map import slice_map
from sliceplan.app.charts.used_parts import COMPUTE, MEMORY, memory_parts, used_parts_chart
from sliceplan.app.jobs.defragmenting import defragmented
from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Answer, Session, take_answer
from sliceplan.app.session.shown import shown
from sliceplan.app.tables.defragmentation import moves_in_words, steps_table, winnings_table
from sliceplan.app.tables.fragmentation import FIT, WITH_ROOM, fragmentation_table, room_table, variants_in_words
from sliceplan.app.widgets.actions import offer_solve
from sliceplan.app.widgets.choosing import choose_one, choose_whether
from sliceplan.app.widgets.files import offer_file
from sliceplan.app.widgets.job_progress import begin, show_failure
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.outdated import warn_if_outdated
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.tables import show_table
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.metrics.compute_use import ComputeUse, compute_use
from sliceplan.solver.metrics.plan_metrics import measure
from sliceplan.solver.model.counted import asks_for_capacity
from sliceplan.solver.model.defragmentation_report import DefragmentationReport, DefragmentationStep
from sliceplan.solver.model.objective import COST
from sliceplan.solver.model.plan import Metrics, Plan, PlannedGpu, Status
from sliceplan.solver.model.words import boards_in_words, counted
from sliceplan.solver.what_if.points import used_profiles
from sliceplan.solver.wording.plain_words import HOURS_A_MONTH
from sliceplan.solver.wording.transition_text import rates_in_words

PURPOSE = "defragment"
ASKED = Kept["Plan"]("fragmentation.asked")
"""Where the session keeps the plan that the last defragmentation began at."""
PLAN, RUNNING = "The plan", "What runs today"
MOST_STEPS = 300

NOTHING = 5e-4
"""How much of all compute is said as 0.0 %."""

IN_NONE, OUT_OF_REACH = "In no partition", "Out of reach"
"""The compute that no partition has; where no further one fits, as the pictures call it."""

EACH = {COMPUTE: "Compute of each GPU", MEMORY: "Memory of each GPU"}

FEW_COLUMNS = 5
"""Of a table of GPUs that are all cut by MIG: there, most of what fits has room in a line."""

SAID = {
    COMPUTE: "Each row is a GPU, to scale by compute (SMs, or cores of a CPU). Point at a partition for its service.",
    MEMORY: "Each row is a GPU, to scale by memory; a MIG instance has memory slices of its own. Point at free ones "
    "for the profiles that could still be created there. Out of reach: none fits beside what is there.",
}
"""Below the picture of each GPU."""


def show(session: Session) -> None:
    """Draws the screen."""
    st.caption("How much of the rented GPUs is idle, where, and whether moving services together would save GPUs.")
    answer = _chosen(session)
    if answer is None:
        offer_solve(
            session,
            "Press Solve to see what is left of each GPU: a map of its memory slices, which MIG profiles still fit "
            "where, and what moving services together would save.",
            "fragmentation",
        )
        return
    problem, plan = answer.problem, answer.plan
    warn_if_outdated(session, problem)
    metrics: Metrics | None = made_once(
        "fragmentation.metrics", (problem, plan), lambda: plan.metrics or measure(problem, plan, known_profiles())
    )
    if metrics is None:
        st.info("This plan uses no GPUs.")
        return
    _show_metrics(plan, metrics)
    _show_defragmentation(session, answer)
    _show_map(session, answer, shown(session, problem, plan), metrics)
    _show_room(plan, metrics)


def _chosen(session: Session) -> Answer | None:
    """Returns what is looked at: the plan, what runs today, or what another planner would do."""
    offers: dict[str, Answer] = {}
    if session.answer is not None:
        offers[PLAN] = session.answer
    if session.running is not None:
        offers[RUNNING] = session.running
    if session.comparison is not None:
        problem, comparison = session.comparison
        taken = None if session.answer is None else session.answer.plan
        offers |= {
            f"The plan of {plan.planner}": Answer(problem, plan) for plan in comparison.plans if plan is not taken
        }
    offers = {name: answer for name, answer in offers.items() if answer.plan.gpus} or offers
    if len(offers) < 2:
        return next(iter(offers.values()), None)
    return offers[choose_one(session, "fragmentation.of", "Look at", list(offers))]


def _show_metrics(plan: Plan, metrics: Metrics) -> None:
    holes = metrics.external_fragmentation or 0.0
    idle = (1 - holes) * (metrics.internal_slack or 0.0)
    used = 1 - holes - idle
    st.header(f"{100 * (1 - used):.0f} % of what {boards_in_words(plan.gpus)} could compute is idle")
    at_work, in_partitions, in_none = st.columns(3)
    at_work.metric("Used", f"{used:.1%}", help="how much of all SMs the rates keep busy, estimated")
    in_partitions.metric(
        "Idle in partitions",
        f"{idle:.1%}",
        help="how much of all SMs is in partitions that could serve more than they are asked for. Of the SMs of "
        f"partitions alone it is {metrics.internal_slack or 0.0:.1%}: their internal slack.",
    )
    fits_more = _fits_more(metrics)
    in_none.metric(
        IN_NONE if fits_more else OUT_OF_REACH,
        f"{holes:.1%}",
        help="external fragmentation: how much of all SMs no partition has",
    )
    st.markdown(_meaning(idle, holes, fits_more=fits_more))


def _meaning(idle: float, holes: float, *, fits_more: bool) -> str:
    """Returns what the figures mean; `fits_more`: whether a further partition fits somewhere."""
    said = (
        f"You pay for all of it. The {100 * idle:.1f} % idle in partitions can serve more requests of the same services"
        " (*Plan*, *Rate and capacity*, says how many of each)"
    )
    if holes < NOTHING:
        return f"{said}; every GPU is divided to its end."
    left = f"{said}; the {100 * holes:.1f} %"
    if fits_more:
        return f"{left} in no partition has room for further partitions."
    return f"{left} out of reach is left over: no further partition fits there."


def _fits_more(metrics: Metrics) -> bool:
    return any(cut.addable or cut.free_cores or (cut.free_percent or 0.0) > 0 for cut in metrics.gpus)


def _show_map(session: Session, answer: Answer, plan: Plan, metrics: Metrics) -> None:
    st.header("Where the room is")
    use = made_once(
        "fragmentation.use",
        (answer.problem, answer.plan),
        lambda: compute_use(answer.problem, answer.plan, known_profiles()),
    )
    _show_parts(session, plan, metrics, use)
    kinds = [COMPUTE, MEMORY] if any(gpu.sharing == "mig" for gpu in plan.gpus) else [COMPUTE]
    kind = COMPUTE
    with st.container(horizontal=True, vertical_alignment="center"):
        if len(kinds) > 1:
            kind = choose_one(session, "fragmentation.kind", "Draw", kinds, EACH.__getitem__, side_by_side=True)
        only_room = choose_whether(session, "fragmentation.room", "Only GPUs with something free")
    gpus = _with_room(plan, metrics) if only_room else list(enumerate(plan.gpus))
    if not gpus:
        st.info("Nothing is free on any GPU.")
        return
    figure = made_once("fragmentation.map", (plan, metrics, only_room, kind), lambda: _map(metrics, use, gpus, kind))
    show_picture(session, figure, "slot_map")
    more = f" Of {len(gpus):,} GPUs, the first {MOST_DRAWN:,} are drawn." if len(gpus) > MOST_DRAWN else ""
    st.caption(f"{SAID[kind]}{more}")


def _show_parts(session: Session, plan: Plan, metrics: Metrics, use: ComputeUse) -> None:
    rows = {COMPUTE: compute_parts(plan.gpus, metrics.gpus, use)}
    memory = made_once("fragmentation.memory", (plan,), lambda: memory_parts(plan.gpus))
    if memory:
        rows[MEMORY] = memory
    show_picture(session, used_parts_chart(rows), "used-parts")


def _map(metrics: Metrics, use: ComputeUse, gpus: Sequence[tuple[int, PlannedGpu]], kind: str) -> Figure:
    if kind == MEMORY:
        return slice_map([gpu for _, gpu in gpus])
    return compute_map(gpus, metrics.gpus, use)


def _with_room(plan: Plan, metrics: Metrics) -> list[tuple[int, PlannedGpu]]:
    free = {
        cut.id
        for cut in metrics.gpus
        if cut.free_memory_slices or cut.free_compute_slices or cut.free_cores or (cut.free_percent or 0.0) > 0
    }
    return [(at, gpu) for at, gpu in enumerate(plan.gpus) if gpu.id in free]


def _show_room(plan: Plan, metrics: Metrics) -> None:
    st.header("What still fits")
    room = made_once("fragmentation.fits", (plan, metrics), lambda: room_table(plan, metrics))
    if room.empty and any(gpu.sharing == "mig" for gpu in plan.gpus):
        st.markdown(f"No further MIG instance fits on these GPUs. {_out_of_reach(metrics)}")
    elif not room.empty:
        show_table(
            room,
            "what_fits",
            columns={
                FIT: st.column_config.NumberColumn(help="at most, if everything free is used for this profile"),
                WITH_ROOM: st.column_config.NumberColumn(help="GPUs on which at least one fits"),
            },
            titles=2,
            at_once=3,
        )
        if ends := variants_in_words(room["profile"]):
            st.caption(literal(ends))
    with st.expander("GPU by GPU", expanded=len(metrics.gpus) <= 8):
        table = made_once("fragmentation.table", (plan, metrics), lambda: fragmentation_table(plan, metrics))
        show_table(
            table,
            "gpu_by_gpu",
            columns={
                "one of these still fits": st.column_config.TextColumn(help="each alone"),
                "free slices": st.column_config.TextColumn(help="of the compute and of the memory that MIG deals out"),
                "out of reach": st.column_config.TextColumn(
                    help="slices that are free, and that no further MIG instance can have"
                ),
                "free share (%)": st.column_config.NumberColumn(format="%.1f"),
                "power (W)": st.column_config.NumberColumn(format="%.0f"),
                "clock (MHz)": st.column_config.NumberColumn(format="%.0f"),
            },
            placeholder="",
            wrapped={"one of these still fits": 385 if len(table.columns) <= FEW_COLUMNS else 210},
            at_once=2,
        )


def _out_of_reach(metrics: Metrics) -> str:
    compute, memory = metrics.wasted_compute_slices or 0, metrics.wasted_memory_slices or 0
    if not compute and not memory:
        return "Nothing is left over."
    left = [counted(count, f"{kind} slice") for kind, count in (("compute", compute), ("memory", memory)) if count]
    are = "is" if compute + memory == 1 else "are"
    return (
        f"{' and '.join(left)} {are} left over, out of reach of every profile: MIG cuts a GPU in fixed sizes at fixed "
        "places."
    )


def _show_defragmentation(session: Session, answer: Answer) -> None:
    st.header("What to do about it")
    problem, plan = answer.problem, answer.plan
    if asks_for_capacity(problem):
        st.markdown(
            "Nothing in dollars: moving services weighs dollars against moves, and this problem asks for most "
            "requests/s on its GPUs."
        )
        return
    if plan.status is Status.OPTIMAL:
        st.markdown(
            "**Nothing: moving services would save nothing**, as no plan for these services on this fleet is cheaper, "
            "which is proven. What is idle is room for more requests. Moves can save in a plan that grew over time, or "
            "that another planner made."
        )
        return
    st.markdown(
        "**Move services together.** One press plans the same services again on the same fleet, from what there is, "
        "and says what at most 0, 1, 2, 4, 8 or any number of moves save, and by which steps."
    )
    if st.button("Show the moves and what they save", key="defragment", type="primary"):
        used = used_profiles(problem, known_profiles())
        try:
            job = shared_jobs().submit(
                session.user, PURPOSE, f"{problem.name}: moving services", defragmented, problem, plan, used
            )
            ASKED.keep(session, plan)
            begin(session, PURPOSE, job, problem)
            st.rerun()
        except TooManyJobsError as error:
            st.error(literal(str(error)))
    found = session.results.get(PURPOSE)
    if found is None or ASKED.of(session) is not plan or PURPOSE in session.open_jobs:
        return
    show_failure(found)
    if isinstance(found.value, DefragmentationReport):
        _show_report(session, answer, found.value, shown(session, problem, found.value))


def _show_report(session: Session, answer: Answer, report: DefragmentationReport, seen: DefragmentationReport) -> None:
    """Draws a report; `seen`: the same with services called as people call them."""
    _show_result(answer, seen)
    if not report.steps:
        return
    usd = st.column_config.NumberColumn(format="$%.2f")
    show_table(
        winnings_table(seen),
        "winnings",
        columns={
            "cost per hour": usd,
            "saved per hour": usd,
            "saved per month": st.column_config.NumberColumn(format="$%.0f"),
            "takes (min)": st.column_config.NumberColumn(
                format="%.1f", help="estimated, from the first step to the last"
            ),
            "proven": st.column_config.CheckboxColumn(help="no plan with so few moves is cheaper"),
        },
    )
    _show_moves(session, answer, report)


def _show_result(answer: Answer, report: DefragmentationReport) -> None:
    """Shows in a sentence what moving services wins, if anything."""
    best = next((step for step in reversed(report.steps) if step.plan), None)
    today = report.cost_per_hour
    saved = 0.0
    if best is not None and best.plan is not None and today is not None:
        saved = today - (best.plan.cost_per_hour or 0.0)
    if best is not None and best.plan is not None and answer.plan.status is Status.VIOLATING:
        st.warning(
            f"What is there misses SLOs. A plan that keeps them costs \\${best.plan.cost_per_hour or 0.0:,.2f} per "
            f"hour, and moves {len(best.moved):,} services."
        )
    elif best is None or best.plan is None or saved <= 1e-6:
        least = "" if report.bound_per_hour is None else f" ({COST.bound_in_words(report.bound_per_hour)})"
        note = f" Not everything was tried: {report.note}." if report.note else ""
        st.info(literal(f"Nothing was won{least}.{note}"))
    else:
        freed = report.gpus_used - best.plan.gpus_used
        gpus = f"{freed:,} GPU{'' if freed == 1 else 's'} freed and " if freed > 0 else ""
        st.success(
            f"Moving {len(best.moved):,} service{'' if len(best.moved) == 1 else 's'} saves most: {gpus}"
            f"\\${saved:,.2f} per hour saved, \\${saved * HOURS_A_MONTH:,.0f} per month."
        )
        if report.note:
            st.caption(f"Not everything was tried: {literal(report.note)}.")


def _show_moves(session: Session, answer: Answer, report: DefragmentationReport) -> None:
    ways = [step for step in report.steps if step.transition is not None and step.transition.steps]
    # Rows that reach the same plan have the same moves.
    ways = [step for i, step in enumerate(ways) if i == 0 or step.plan != ways[i - 1].plan]
    if not ways:
        return
    counts = [moves_in_words(shown(session, answer.problem, step)) for step in ways]
    labels = {
        f"at most {count}" if step.most_moves is not None else "any number": step
        for step, count in reversed(list(zip(ways, counts, strict=True)))
    }
    label = choose_one(session, "fragmentation.way", "The moves, with services moved", list(labels))
    _show_way(session, answer, labels[label])


def _show_way(session: Session, answer: Answer, step: DefragmentationStep) -> None:
    seen, plan = shown(session, answer.problem, step), step.plan
    way = seen.transition
    if way is None or plan is None:
        return
    st.markdown(f"**Moved:** {literal(', '.join(seen.moved) or 'no service')}")
    for short in way.shortfalls:
        st.warning(
            literal(
                f"{short.workload} has up to {short.missing_rps:,.0f} requests/s too few on the way, of "
                f"{short.required_rps:,.0f}."
            )
        )
    if way.resets:
        st.warning(f"{way.resets:,} GPU{'' if way.resets == 1 else 's'} must be reset on the way.")
    if words := " ".join(rates_in_words(way)):
        st.markdown(literal(words))
    table = steps_table(way)
    show_table(
        table.head(MOST_STEPS),
        "moves_in_steps",
        columns={name: st.column_config.NumberColumn(format="%.0f") for name in ("from (s)", "to (s)")},
    )
    if len(table) > MOST_STEPS:
        st.caption(f"The first {MOST_STEPS:,} of {len(table):,} steps.")
    take, download = st.columns(2)
    if take.button("Make it the plan", key="take_defragmented", help="the screens Plan and Transition then show it"):
        take_answer(session, Answer(answer.problem, plan))
        st.rerun()
    offer_file(
        "Download this plan",
        dump_plan(plan),
        answer.problem.name,
        "defragmented-plan.json",
        key="download_defragmented",
        place=download,
        width="content",
    )
