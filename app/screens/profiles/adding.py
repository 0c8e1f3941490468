"""One's own profiles, uploaded or pasted: what they were read as, and what they say, before the problem gets them."""

from collections.abc import Sequence
from typing import cast, get_args

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from sliceplan.app.charts.profile import batches_chart, batches_of, shares_chart, sizes_of
from sliceplan.app.profiles.reading import Text, kind_of, of_load_test, read_profiles
from sliceplan.app.session.own_profiles import use_profiles
from sliceplan.app.session.session import Session
from sliceplan.app.session.uploaded import MOST_MIB, text_of
from sliceplan.app.tables.measurements import (
    Cells,
    Field,
    Of,
    Per,
    Reading,
    TimeUnit,
    cells_of,
    guessed,
    points_of,
    profiles_of,
)
from sliceplan.app.tables.profile import points_table
from sliceplan.app.widgets.dialogs import dialog
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.tables import show_table
from sliceplan.app.widgets.texts import listed, literal
from sliceplan.solver.formats.measurements.facts import Facts
from sliceplan.solver.formats.measurements.sample import STATISTICS
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.model.words import counted

from .choosing import look_at

PASTED = "what was pasted"

READ_AS = {
    "profiles": "a file of profiles",
    "parvagpu": "ParvaGPU's measurements, one model a file",
    "igniter": "iGniter's measurements; its coefficients are fitted to them",
    "gpulets": "gpu-lets' measurements",
    "gpulet-tables": "gpu-lets' tables",
    "load test": "results of a load tester",
    "table": "a table of measurements",
}

SAMPLE = "model\tbatch\tlatency (ms)\tthroughput\nours\t1\t4.1\t240\nours\t8\t11.3\t705"

NOT_THERE = "in no column"

LABELS: dict[Field, str] = {
    "model": "Model",
    "gpu": "GPU type",
    "partition": "MIG size or share",
    "batch": "Batch size",
    "processes": "Processes",
    "latency": "Latency",
    "throughput": "Throughput",
    "memory": "Memory, MiB",
}

FORMATS = {"ms per batch": "%.2f", "requests/s": "%.1f"}
"""Of figures that may have been converted."""

SHOWN = 5
"""Rows of the table as they were read."""

MOST_LINES = 8
"""Batch sizes of which a curve over shares is drawn."""

MOST_SHOWN = 8
"""Things to put right that are listed."""


@dialog("Profiles of your own", width="large")
def add_profiles(session: Session) -> None:
    """Takes files or pasted text, and gives the problem what they hold."""
    st.markdown(
        "Speeds that you measured, or files of others: profiles as YAML or JSON; the artifacts of ParvaGPU, iGniter "
        "and gpu-lets; results of Model Analyzer, perf_analyzer, AIPerf, genai-perf, vLLM, MLPerf, "
        "OpenVINO or ONNX Runtime; or any table."
    )
    files = st.file_uploader("Files", accept_multiple_files=True, key="profile_files", max_upload_size=MOST_MIB)
    pasted = st.text_area("Or cells of a spreadsheet, or a file's text", key="profile_text", placeholder=SAMPLE)
    try:
        texts = [Text(file.name, text_of(file.name, file.getvalue())) for file in files]
        texts = texts or ([Text(PASTED, pasted)] if pasted.strip() else [])
        if not texts:
            return
        kind, tool = made_once("adding.kind", (tuple(texts),), lambda: kind_of(texts))
        st.markdown(f"Read as **{READ_AS[kind]}**{f' ({tool})' if tool else ''}.")
        if kind == "table":
            profiles = [profile for text in texts for profile in _of_table(session, text)]
        elif kind == "load test":
            profiles = _of_load_test(session, texts, tool)
        else:
            profiles = made_once("adding.read", (tuple(texts), kind), lambda: read_profiles(texts, kind))
    except InputError as error:
        _say_wrong([f"{one.source} {one.path} {one.message}".strip() for one in error.findings])
        return
    _offer(session, profiles)


def _offer(session: Session, profiles: Sequence[Profile]) -> None:
    first = profiles[0]
    lines = [
        f"{one.model} on {one.gpu}: {one.quality}, "
        + (counted(len(one.points), "operating point") if one.points else "curves")
        for one in profiles
    ]
    more = f"\n- and {len(lines) - MOST_SHOWN:,} more" if len(lines) > MOST_SHOWN else ""
    st.markdown(listed(lines[:MOST_SHOWN]) + more)
    if first.points and first.provenance.source != PASTED:
        show_table(points_table(first).head(SHOWN), "adding_points")
    st.caption(
        "They become part of the problem: they are saved with it, are in its file and links, and replace shipped "
        "profiles."
    )
    use = f"Use {counted(len(profiles), 'profile')}"
    if st.button(use, type="primary", key="use_profiles", on_click=_use, args=(session, profiles)):
        st.rerun()
    _show_curves(session, first)


def _show_curves(session: Session, profile: Profile) -> None:
    """Draws how long a batch takes, over batch sizes on MIG instances or over shares of the GPU; of CPUs nothing."""
    if sizes_of(profile):
        counts = {curve.processes for curve in profile.curves} | {point.processes for point in profile.mig_points}
        chart = batches_chart(profile, min(counts), "latency", ())
    elif profile.interference is not None or profile.share_points:
        chart = shares_chart(profile, batches_of(profile)[:MOST_LINES], "latency", ())
    else:
        return
    show_picture(session, chart, "curves-to-add")
    st.caption(literal(f"{profile.model} on {profile.gpu}."))


def _use(session: Session, profiles: Sequence[Profile]) -> None:
    use_profiles(session, list(profiles))
    look_at(session, profiles[0])
    session.editor += 1


def _of_table(session: Session, text: Text) -> list[Profile]:
    """Shows what the columns of a table are taken for, to be changed, and the first rows as they were read."""
    cells = made_once(f"adding.cells.{text.name}", (text,), lambda: cells_of(text.text, text.name))
    guess = made_once(f"adding.guess.{text.name}", (text,), lambda: guessed(cells))
    reading = _mapped(session, text, cells, guess)
    points = points_of(cells, reading, text.name)
    table = pd.DataFrame(
        {
            "model": model,
            "GPU": gpu,
            "partition": point.mig_profile or f"{point.sm_percent:g} %",
            "batch": point.batch,
            "processes": point.processes,
            "ms per batch": point.latency_ms,
            "requests/s": point.throughput_rps,
        }
        for model, gpu, point in points[:SHOWN]
    )
    st.markdown("The first rows, as they were read:")
    figures = {name: st.column_config.NumberColumn(format=form) for name, form in FORMATS.items()}
    show_table(table, f"adding_rows_{text.name}", columns=figures)
    return profiles_of(cells, reading, text.name)


IN_A_ROW = 4
"""Choices of columns."""


def _mapped(session: Session, text: Text, cells: Cells, guess: Reading) -> Reading:
    """Draws a choice for each column and unit; what was guessed is chosen at first."""
    options = [NOT_THERE, *cells.header]
    key = f"adding_{abs(hash(text)):x}"
    columns: dict[Field, str] = {}
    rows = st.container(key=f"beside_{key}")
    places: list[DeltaGenerator] = []
    for field, label in LABELS.items():
        places = places or list(rows.columns(IN_A_ROW))
        first = options.index(guess.columns[field]) if field in guess.columns else 0
        chosen = places.pop(0).selectbox(label, options, first, key=f"{key}_{field}")
        if chosen != NOT_THERE:
            columns[field] = chosen
    unit_at, per_at, of_at = rows.columns(3)
    units, pers, ofs = get_args(TimeUnit), get_args(Per), get_args(Of)
    unit = unit_at.selectbox("Latency is in", units, units.index(guess.time_unit), key=f"{key}_unit")
    per = per_at.selectbox("Latency is that of a", pers, pers.index(guess.time_per), key=f"{key}_per")
    of = of_at.selectbox(
        "Throughput is that of",
        ofs,
        ofs.index(guess.throughput_of),
        key=f"{key}_of",
        disabled="throughput" not in columns,
    )
    st.caption(
        "Units were guessed from the columns' names, and so that the figures agree: in a batch's time each process "
        "answers a batch of requests."
    )
    stated: dict[str, str] = {}
    places = list(st.columns(2))
    if "model" not in columns:
        stated["model"] = places.pop(0).text_input("Model of all rows", key=f"{key}_all_model").strip()
    if "gpu" not in columns:
        stated["gpu"] = _choose_gpu(session, places.pop(0), f"{key}_all_gpu")
    if "partition" not in columns:
        stated["partition"] = _choose_partition(stated.get("gpu", ""), f"{key}_all_partition")
    return Reading(columns, cast("TimeUnit", unit), cast("Per", per), cast("Of", of), **stated)


def _of_load_test(session: Session, texts: Sequence[Text], tool: str) -> list[Profile]:
    gpu_at, model_at, statistic_at = st.columns(3)
    gpu = _choose_gpu(session, gpu_at, "adding_gpu")
    model = model_at.text_input("Model", key="adding_model", placeholder="as the files say").strip()
    statistic = statistic_at.selectbox("Latency to plan with", STATISTICS, key="adding_statistic")
    partition = _choose_partition(gpu, f"adding_partition_{gpu}")
    batch_at, processes_at = st.columns(2)
    unsaid = "as the files say"
    batch = batch_at.number_input("Batch size", 1, 65536, None, placeholder=unsaid, key="adding_batch")
    processes = processes_at.number_input("Processes", 1, 48, None, placeholder=unsaid, key="adding_processes")
    is_share = partition == "100"
    facts = Facts(
        model=model or None,
        gpu=gpu,
        mig_profile=None if is_share else partition,
        sm_percent=100.0 if is_share else None,
        batch=batch,
        processes=processes,
        latency=statistic,
    )
    profiles, notes = of_load_test(texts, tool, facts)
    for note in notes:
        st.caption(literal(note))
    return profiles


def _choose_gpu(session: Session, place: DeltaGenerator, key: str) -> str:
    fleet = [gpu for gpu in session.tables.fleet["gpu"].dropna() if gpu in load_catalogue()]
    gpu: str = place.selectbox("GPU type", list(dict.fromkeys([*fleet, *load_catalogue()])), key=key)
    return gpu


def _choose_partition(gpu: str, key: str) -> str:
    """Lets one choose what was measured on; the whole GPU is its share of 100 %."""
    mig = load_catalogue()[gpu].mig if gpu in load_catalogue() else None
    sizes = [one.name for one in mig.profiles] if mig else []
    return st.selectbox(
        "Measured on", ["100", *sizes], key=key, format_func=lambda size: "the whole GPU" if size == "100" else size
    )


def _say_wrong(texts: Sequence[str]) -> None:
    more = f"\n- and {len(texts) - MOST_SHOWN:,} more" if len(texts) > MOST_SHOWN else ""
    st.error(f"Please correct this first:\n\n{listed(texts[:MOST_SHOWN])}{more}")
