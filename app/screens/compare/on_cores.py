"""Models of layers on the cores of one CPU: needs, blocks, what schedulers carry, and a second of one of them."""

import math

import pandas as pd
import streamlit as st

from sliceplan.app.charts.core_rates import rates_chart
from sliceplan.app.charts.core_second import second_chart
from sliceplan.app.charts.layer_blocks import layer_chart
from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.jobs.on_cores import GROW_MS, QUERIES, schedulers_compared
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.app.session.uploaded import MOST_MIB, MOST_VALUES, text_of
from sliceplan.app.tables.cores import blocks_table, layers_table, queries_table, rates_table
from sliceplan.app.widgets.job_progress import begin, show_failure
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.tables import show_table
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.cores.blocks import blocks, spent
from sliceplan.solver.cores.levels import levels_of
from sliceplan.solver.cores.made_up_layers import made_up_model
from sliceplan.solver.cores.one_second import Second, one_second
from sliceplan.solver.cores.quotas import Quotas, quotas_of
from sliceplan.solver.cores.runtimes.timetable import Machine
from sliceplan.solver.cores.schedulers.registry import schedulers
from sliceplan.solver.model.cores_report import CoresReport
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.layer_times import LayeredModel, LayerFile
from sliceplan.solver.model.parsing import parse_record, parse_text
from sliceplan.solver.model.words import counted

PURPOSE = "on_cores"

Asked = tuple[LayeredModel, float, int]
"""Model, latency limit in ms, cores."""

ASKED = Kept[Asked]("on_cores.asked")
"""What the schedulers were compared for last."""

MADE_UP_MS = 12.0

MOST_CORES = 512

MOST_EVENTS = 12_000
"""Layers times queries/s of a second that is simulated while its reader waits: 1 to 2 s where most are late."""

COLUMN = st.column_config.NumberColumn


def show_on_cores(session: Session) -> None:
    """Draws all of it for an uploaded file of layer times, or for a model that was made up."""
    st.caption(
        "Many queries of one model share the cores of a CPU. Its layers need different numbers of cores, so that "
        "schedulers give a query cores layer by layer, block by block, or as a whole (VELTAIR, ASPLOS 2022). Plans "
        "give each service cores of its own; this stands beside them, as `sliceplan cores` does."
    )
    file = st.file_uploader(
        "Layer times of your own (YAML or JSON, as `sliceplan cores` reads them)",
        type=["yaml", "yml", "json"],
        key="on_cores_file",
        max_upload_size=MOST_MIB,
    )
    try:
        if file is None:
            st.caption("Until you bring some, a model is shown whose times were made up. They say nothing of any CPU.")
            models: tuple[LayeredModel, ...] = made_once("on_cores.made_up", (), lambda: (made_up_model(),))
        else:
            models = made_once("on_cores.models", (file.file_id,), lambda: _uploaded(file.name, file.getvalue()))
        model = models[0]
        if len(models) > 1:
            model = models[st.selectbox("Model", range(len(models)), format_func=lambda at: models[at].model)]
        _show_model(session, model)
    except InputError as error:
        for finding in error.findings:
            st.error(literal(f"{finding.path} {finding.message}".strip()))


def _uploaded(name: str, content: bytes) -> tuple[LayeredModel, ...]:
    is_json = name.lower().endswith(".json")
    data = parse_text(text_of(name, content), name, is_json=is_json, most_values=MOST_VALUES[is_json])
    return parse_record(LayerFile, data, name).models


def _show_model(session: Session, model: LayeredModel) -> None:
    cores_at, slo_at, threshold_at = st.columns(3)
    most = max(model.cores)
    cores = int(
        cores_at.number_input("Cores of the CPU", min(model.cores), max(MOST_CORES, most), most, key="on_cores_cores")
    )
    levels = made_once("on_cores.levels", (model, cores), lambda: levels_of(model).within(cores))
    least_ms = math.ceil(10 * float(levels.alone.total_us.min()) / 1000) / 10
    usual_ms = max(least_ms, MADE_UP_MS if _is_made_up(model) else round(2.5 * least_ms, 1))
    slo_ms = slo_at.slider(
        "Latency limit (QoS), ms", least_ms, round(6 * least_ms, 1), usual_ms, 0.1, key=f"on_cores_slo_{model.model}"
    )
    quotas = made_once("on_cores.quotas", (model, cores, slo_ms), lambda: quotas_of(levels.alone, slo_ms))
    threshold = threshold_at.slider(
        "Threshold above the average, cores",
        0,
        most,
        0,
        key="on_cores_threshold",
        help="A block ends before a layer that needs more than average + threshold. VELTAIR has load set it: the idle "
        "cores, so that it is 0 where the CPU is full.",
    )
    _show_layers(session, model, quotas, threshold)
    _show_rates(session, (model, slo_ms, cores))
    _show_second(session, model, quotas, cores)


def _is_made_up(model: LayeredModel) -> bool:
    return model.provenance == made_up_model().provenance


def _show_layers(session: Session, model: LayeredModel, quotas: Quotas, threshold: float) -> None:
    names = [layer.name for layer in model.layers]
    cut = blocks(quotas, threshold)
    core_ms, ms = spent(quotas, cut)
    st.header(
        literal(
            f"{model.model}: {counted(len(names), 'layer')} in {counted(len(cut), 'block')}, {ms:.2f} ms and "
            f"{core_ms:.1f} core-ms a query"
        )
    )
    show_picture(session, layer_chart(quotas, names, threshold, cut), "layers_and_blocks")
    st.caption(
        "A layer may take a part of the limit by its multiplications, and needs the fewest cores with which it does. "
        f"As a whole the model is in time on {counted(quotas.average, 'core')}, the average. Orange layers need more "
        "than average + threshold: a block ends before them."
    )
    if rises := quotas.chain.rises:
        st.caption(
            f"{rises:,} of {quotas.chain.steps:,} steps to more cores were measured to be slower; there a layer is "
            "taken to leave the surplus idle."
        )
    show_table(blocks_table(quotas, cut), "layer_blocks", columns={"takes (ms)": COLUMN(format="%.3f")})
    with st.expander("All layers"):
        times = dict.fromkeys(("may take (ms)", "on the average (ms)"), COLUMN(format="%.3f"))
        show_table(layers_table(quotas, names), "layer_needs", columns=times)


def _show_rates(session: Session, asked: Asked) -> None:
    st.header("Queries a second, by scheduler")
    if st.button("Simulate the schedulers", key="simulate_cores", disabled=PURPOSE in session.open_jobs):
        _begin(session, asked)
    found = session.results.get(PURPOSE)
    if found is None or PURPOSE in session.open_jobs:
        return
    show_failure(found)
    if not isinstance(found.value, CoresReport):
        return
    if ASKED.of(session) != asked:
        st.info("The sliders were moved since. What is shown here answers the earlier question; simulate again.")
    show_picture(session, rates_chart(found.value), "queries_by_scheduler")
    st.caption(
        f"{QUERIES:,} Poisson queries, 95 % of them in time; the same arrivals for all. The bound is what no runtime "
        "exceeds on them, all arrivals known beforehand. In the table: where the time of the cores goes, in queries/s "
        "that it would carry."
    )
    figures = {name: COLUMN(format="%.1f") for name in ("queries/s", "idle", "inefficient", "standing", "lost")}
    show_table(
        rates_table(found.value), "scheduler_rates", columns=figures | {"of the bound": COLUMN(format="%.0f %%")}
    )


def _begin(session: Session, asked: Asked) -> None:
    problem = session.problem
    model, slo_ms, cores = asked
    if problem is None:
        st.error("Something in the tables is wrong: see *Services and fleet*.")
        return
    try:
        title = f"{model.model} within {slo_ms:g} ms on {cores} cores"
        job = shared_jobs().submit(session.user, PURPOSE, title, schedulers_compared, model, slo_ms, cores)
    except TooManyJobsError as error:
        st.error(literal(str(error)))
        return
    session.results.pop(PURPOSE, None)
    ASKED.keep(session, asked)
    begin(session, PURPOSE, job, problem)
    st.rerun()


def _show_second(session: Session, model: LayeredModel, quotas: Quotas, cores: int) -> None:
    st.header("One second")
    name_at, rate_at = st.columns(2)
    names = list(schedulers())
    name = name_at.selectbox("Scheduler", names, index=names.index("veltair"), key="on_cores_scheduler")
    full = 1000 * cores / (quotas.average * float(quotas.chain.total_us[quotas.index_of(quotas.average)]) / 1000)
    most = max(2, round(1.3 * full))
    rate = rate_at.slider("Queries a second", 1, most, max(1, round(0.35 * full)), key=f"on_cores_rate_{most}")
    if rate * len(model.layers) > MOST_EVENTS:
        st.info(f"{rate:,} queries of {len(model.layers):,} layers are too many to be drawn. Choose fewer a second.")
        return
    of = (model, quotas.slo_ms, cores, name, rate)
    second: Second = made_once(
        "on_cores.second",
        of,
        lambda: one_second(model, quotas.slo_ms, schedulers()[name], Machine(cores, GROW_MS), float(rate)),
    )
    late = sum(one.is_late for one in second.queries)
    st.markdown(
        f"{len(second.queries):,} queries had cores in it, {late:,} of them late; the cores were busy "
        f"{second.busy:.0%} of the time."
    )
    show_picture(session, made_once("on_cores.gantt", of, lambda: second_chart(second)), "one_second")
    st.caption(
        "A row a core; neighbouring bars of one colour are one query. Outlined red: it is late. Hatched: it stands "
        "still because it was given more cores."
    )
    with st.expander("All queries of this second"):
        table: pd.DataFrame = queries_table(second)
        times = dict.fromkeys(("came (ms)", "took (ms)"), COLUMN(format="%.1f"))
        show_table(table, "queries_of_second", columns=times)
