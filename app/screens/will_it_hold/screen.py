"""Will it hold? The plan carried out request by request: who is late, by how much, and where the time goes."""

import json

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from sliceplan.app.charts.latency_histogram import latency_histogram
from sliceplan.app.charts.percentiles import percentile_chart
from sliceplan.app.jobs.simulating import Simulated
from sliceplan.app.session.session import Answer, Session
from sliceplan.app.session.shown import shown
from sliceplan.app.tables.simulation import simulation_table, verdict_in_words, worst_first
from sliceplan.app.widgets.actions import offer_solve
from sliceplan.app.widgets.choosing import choose_one
from sliceplan.app.widgets.files import offer_file
from sliceplan.app.widgets.job_progress import show_failure
from sliceplan.app.widgets.making_it_hold import (
    begin_to_cost,
    offer_to_make_it_hold,
    say_what_it_costs,
    show_what_holds,
)
from sliceplan.app.widgets.outdated import warn_if_outdated
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.simulation import PURPOSE, asked_of, begin_simulation
from sliceplan.app.widgets.tables import show_table
from sliceplan.app.widgets.texts import listed, literal, sentence
from sliceplan.app.widgets.traffic import DISPATCHES, words_of
from sliceplan.solver.formats.labelled import labelled
from sliceplan.solver.metrics.service_figures import service_figures
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.simulation_report import SimulatedService, SimulationReport, Verdict
from sliceplan.solver.model.words import counted
from sliceplan.solver.wording.promise import promised

from .routers import offer_routers
from .traffic import asked_traffic

IN_A_LINE: dict[Verdict, str] = {
    "yes": "It holds for every service.",
    "no": "It does not hold; who is late is below.",
    "unsure": "Not sure for every service; more is below.",
    "unknown": "Not known; why is below.",
}
"""On a phone, where the figures are below all that is asked for."""

ON_ITS_WAY = "What was asked for is being simulated."

MOST_ENDLESS = 5
"""Services that are named whose queues grow without end."""


def show(session: Session) -> None:
    """Draws the screen."""
    answer = session.answer
    if answer is None or not answer.plan.gpus:
        offer_solve(
            session,
            "Press Solve for a plan. It is then simulated here, request by request: how long users wait, which "
            "services keep their SLO, and how that changes with load and bursts.",
            "will_it_hold",
        )
        return
    warn_if_outdated(session, answer.problem)
    st.markdown(
        "The plan is simulated here, request by request: each waits for a batch, then runs on a partition. A "
        "service **holds** if enough of its requests are in time: within its latency limit, the SLO."
    )
    in_a_line = st.container(key="result_on_a_phone")
    verdict = st.container()
    traffic = asked_traffic(session, answer.problem)
    if traffic != asked_of(session, answer.plan) and not begin_simulation(session, answer, traffic):
        st.button("Simulate", type="primary", key="simulate")  # the run that it begins tries again
        return
    found = session.results.get(PURPOSE)
    if found is None:
        if PURPOSE in session.open_jobs:
            _say_what_is_known(shown(session, answer.problem, answer.plan))
        return
    show_failure(found)
    if isinstance(found.value, Simulated) and found.problem is answer.problem:
        is_current = found.value.traffic == traffic
        in_a_line.markdown(f"**{IN_A_LINE[found.value.report.holds] if is_current else ON_ITS_WAY}**")
        _show(session, answer, found.value, verdict)


def _say_what_is_known(plan: Plan) -> None:
    """Says what the plan promises by its rule, while it is carried out for the first time."""
    said = " ".join(sentence(line.strip()) for line in promised(plan))
    st.info(literal(f"{said} Whether each service keeps its SLO is being simulated, request by request.".strip()))


def _show(session: Session, answer: Answer, found: Simulated, verdict: DeltaGenerator) -> None:
    """Draws what came of it; `verdict`: the place above all that can be asked, for whether it holds."""
    report = shown(session, answer.problem, found.report)
    asked = asked_of(session, answer.plan) or found.traffic
    if found.traffic != asked:
        st.info(f"This is {literal(words_of(found.traffic))}; what was asked for is on its way.")
    with verdict:
        _show_verdict(report)
        if report.services and report.holds != "yes":
            with st.container(horizontal=True, vertical_alignment="center"):
                offer_to_make_it_hold(session, answer, asked)
                say_what_it_costs(session, answer, asked)
            show_what_holds(session, answer, asked)
    if not report.services:
        return
    services = worst_first(report.services)
    counts = [count for count in (20, 50, 100) if count < len(services)] or [20]
    most = counts[0]
    if len(services) > counts[0]:
        most = choose_one(session, "will_it_hold.most", f"Services, of {len(services):,}, the worst first", counts)
    show_picture(session, percentile_chart(services[:most], report.quantile), "percentiles")
    share = f"{100 * report.quantile:g}"
    st.caption(
        f"P{share}: {share} % of the requests are answered within this time. Left of the red line they are in time, "
        f"right of it late. The thin line is where P{share} lies with 95 % confidence. It is long where sections of "
        "the run differ: few requests are late in each, or a queue near its capacity grows in one and empties in the "
        "next. More requests shorten it."
    )
    _show_table(services)
    _show_one(session, answer, services)
    if report.notes:
        st.markdown("**What the figures do not show**\n" + listed(report.notes))
    offer_routers(session, answer)
    _offer(answer, found.report)
    if report.holds != "yes":
        begin_to_cost(session, answer, asked)


def _show_verdict(report: SimulationReport) -> None:
    if report.planned_for is not None and not report.is_of_its_router:
        planned, here = DISPATCHES[report.planned_for], DISPATCHES[report.dispatch]
        st.warning(f"The plan was made for another way of dealing requests ({planned}) than this ({here}).")
    text = literal(verdict_in_words(report))
    {"yes": st.success, "no": st.error}.get(report.holds, st.warning)(text)
    missing = [one for one in report.services if one.holds == "no"]
    endless = [(one.workload, one.unstable) for one in missing if one.unstable is not None]
    for name, grows in endless[:MOST_ENDLESS]:
        st.warning(
            literal(
                f"{name}: {grows.rate_rps:,.0f} requests/s come and {grows.capacity_rps:,.0f} can be served, so its "
                "queue grows without end."
            )
        )
    if len(endless) > MOST_ENDLESS:
        st.warning(f"So do the queues of {len(endless) - MOST_ENDLESS:,} more services.")
    if report.stopped == "interrupted":
        st.info(f"Ended early: {len(report.missing):,} services were not reached, and the rest has fewer requests.")


def _show_table(services: list[SimulatedService]) -> None:
    column = st.column_config
    show_table(
        simulation_table(services),
        "percentiles",
        columns={
            "holds": column.TextColumn(help="not sure: the SLO lies within the confidence interval"),
            "in time": column.NumberColumn(format="%.2f %%", help="of its requests, within the SLO"),
            **{name: column.NumberColumn(f"{name} (ms)", format="%.1f") for name in ("P50", "P95", "P99")},
            "P99 up to": column.NumberColumn(
                "P99 up to (ms)", format="%.1f", help="upper end of the 95 % confidence interval"
            ),
            "waits (ms)": column.NumberColumn(format="%.1f", help="on average, for its batch and in the queue"),
            "executes (ms)": column.NumberColumn(format="%.1f", help="on average"),
        },
        folded=("P50", "P95", "P99 up to", "waits (ms)", "executes (ms)"),
        at_once=CARDS_AT_ONCE,
        placeholder="",
    )


def _show_one(session: Session, answer: Answer, services: list[SimulatedService]) -> None:
    """Shows one service: how its latencies are spread, and where the time goes."""
    names = [one.workload for one in services]
    name = choose_one(session, "will_it_hold.service", "One service", names)
    one = services[names.index(name)]
    if not one.histogram or one.mean_ms is None or one.wait_ms is None:
        st.info("No request of this service came, or none was served.")
        return
    show_picture(session, latency_histogram(one), "latencies")
    executes = one.mean_ms - one.wait_ms
    problem = answer.problem
    figures = service_figures(shown(session, problem, problem), shown(session, problem, answer.plan))
    beside = next((found for found in figures if found.name == name), None)
    neighbours = 0.0
    if beside is not None and beside.slowest is not None and beside.slowest.causes_ms:
        causes = beside.slowest.causes_ms
        neighbours = sum(ms for cause, ms in causes.items() if cause in NEIGHBOURS)
    lines = [
        f"On average a request takes {one.mean_ms:.1f} ms: it waits {one.wait_ms:.1f} ms for its batch and in the "
        f"queue, and executes for {executes:.1f} ms."
    ]
    if neighbours > 0:
        lines.append(f"Neighbours on the GPU take {neighbours:.1f} ms of that, at the slowest of its partitions.")
    sizes = sorted(one.batch_sizes.items(), key=lambda item: -item[1])[:3]
    often = ", ".join(f"{counted(size, 'request')} ({share:.0%})" for size, share in sizes if share >= LEAST_SAID)
    lines.append(f"Its batches most often had {often}.")
    lines.append(f"At most {counted(one.queue_longest, 'request')} waited at once.")
    st.markdown(f"**Where the time goes**\n{listed(lines)}")


CARDS_AT_ONCE = 3
"""Services that a phone shows at first, those that hold least."""

LEAST_SAID = 0.005
"""Of the batches: a size that is rarer is not said."""

NEIGHBOURS = ("cache contention", "scheduling contention", "throttling", "neighbour")
"""Causes of execution time that are not the service's own."""


def _offer(answer: Answer, report: SimulationReport) -> None:
    offer_file(
        "Everything as JSON",
        lambda: _json_text(answer, report),
        answer.problem.name,
        "simulation.json",
        key="take_simulation",
        width="content",
        help_text="What `sliceplan simulate --json` writes: percentiles with intervals, histograms, partitions.",
    )


def _json_text(answer: Answer, report: SimulationReport) -> str:
    data = labelled(report.model_dump(mode="json"), answer.problem.labels)
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
