"""GPUs from the catalogue and services by their profiles, with what is known of them beside the choice."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import pandas as pd
import streamlit as st

from sliceplan.app.session.own_profiles import profiles_of
from sliceplan.app.session.problem_state import state
from sliceplan.app.session.session import Session
from sliceplan.app.tables.catalogue import ModelFacts, catalogue_table, free_name, model_facts, models_table, on_fleet
from sliceplan.app.tables.labels import LABELS
from sliceplan.app.tables.problem import typed, ways_in
from sliceplan.app.widgets.dialogs import dialog
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.tables import show_table
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.price_book import DEFAULT_BOOK, load_price_books
from sliceplan.solver.model.prices import book_named
from sliceplan.solver.model.problem import MOST_OF_LABEL, Sharing
from sliceplan.solver.performance.latency_rules.execution import least_slo_ms
from sliceplan.solver.performance.latency_rules.rules import part_of_slo
from sliceplan.solver.wording.sharing_words import SHARING_WORDS, sharing_in_words


@dialog("Add GPUs", width="medium")
def add_gpus(session: Session) -> None:
    """Adds a GPU type of the catalogue to the fleet."""
    there = set(session.tables.fleet["gpu"].dropna())
    book = book_named(session.tables.prices, session.tables.price_books) or load_price_books()[DEFAULT_BOOK]
    table = made_once(
        "choosing.catalogue",
        (book, session.tables.profiles),
        lambda: catalogue_table(load_catalogue().values(), profiles_of(session), book),
    )
    free = [name for name in table["gpu"] if name not in there]
    if not free:
        st.info("All GPU types of the catalogue are in the fleet.")
        return
    chosen = st.selectbox("GPU type", free, key="gpu_to_add", help=LABELS["fleet"]["gpu"].meaning)
    gpu = load_catalogue()[chosen]
    models = sorted({facts.model for facts in _facts(session) if facts.gpu == chosen})
    kinds = sorted({kind for facts in _facts(session) if facts.gpu == chosen for kind in facts.sharing})
    facts = table[table["gpu"] == chosen].drop(columns="gpu").T.reset_index().astype(str)
    show_table(facts.set_axis(["fact", chosen], axis="columns"), "gpu_facts")
    if models:
        st.caption(f"Profiled here: {', '.join(models)}; known for {sharing_in_words(kinds)}.")
    else:
        st.warning("No model is profiled on this GPU type: nothing can be planned on it without profiles of your own.")
    count_at, price_at, sharing_at = st.columns(3)
    count = count_at.number_input(
        "How many",
        min_value=0,
        step=1,
        value=None,
        placeholder="as many as needed",
        key="gpu_count",
        help=LABELS["fleet"]["count"].meaning,
    )
    known = book.price(chosen)
    price = price_at.number_input(
        "USD per GPU and hour",
        min_value=0.01,
        value=None,
        key="gpu_price",
        placeholder=f"{known.usd_per_gpu_hour:g}" if known else "must be stated",
        help=LABELS["fleet"]["price_per_hour"].meaning,
    )
    usual = ["mig"] if "mig" in kinds else kinds or ["mig" if gpu.mig else "exclusive"]
    sharing = sharing_at.multiselect(
        "Divided by",
        get_args(Sharing),
        default=usual,
        format_func=lambda way: SHARING_WORDS[way],
        key=f"gpu_sharing_{chosen}",
        help=LABELS["fleet"]["sharing"].meaning,
    )
    lacks = [
        what
        for what, is_missing in (("a price", not known and price is None), ("a way to divide it", not sharing))
        if is_missing
    ]
    if lacks:
        st.caption(f"It needs {' and '.join(lacks)}.")
    if st.button("Add to the fleet", type="primary", disabled=bool(lacks), key="gpu_add"):
        _append(
            session,
            "fleet",
            {"gpu": chosen, "count": count, "price_per_hour": price, "sharing": sharing_in_words(sharing)},
        )


@dialog("Add a service", width="medium")
def add_service(session: Session) -> None:
    """Adds a service whose model is profiled on a GPU type of the fleet."""
    facts = on_fleet(_facts(session), _fleet(session))
    if not facts:
        st.info("No model is profiled for the fleet as it stands. Add GPUs first; the dialog says which have profiles.")
        return
    models = list(dict.fromkeys(one.model for one in facts))
    model = st.selectbox("Model", models, key="model_to_add", help=LABELS["workloads"]["model"].meaning)
    known = [one for one in facts if one.model == model]
    show_table(models_table(known).drop(columns="model"), "known_models")
    name_at, rate_at, slo_at = st.columns(3)
    names = session.tables.workloads["name"].dropna()
    name = name_at.text_input(
        "Name",
        free_name(model, names),
        key=f"service_name_{model}",
        max_chars=MOST_OF_LABEL,
        help=LABELS["workloads"]["name"].meaning,
    )
    rate = rate_at.number_input(
        "Requests per second",
        min_value=0.01,
        value=100.0,
        key="service_rate",
        help=LABELS["workloads"]["rate_rps"].meaning,
    )
    least = least_slo_ms(min(one.least_ms for one in known), _part_of_slo(session))
    slo = slo_at.number_input(
        "SLO, milliseconds",
        min_value=0.01,
        value=float(f"{max(4 * least, 1):.2g}"),
        key=f"service_slo_{model}",
        help=LABELS["workloads"]["slo_ms"].meaning,
    )
    if slo < least:
        st.warning(f"No partition is that quick: with the settings as they are, at least {least:.3g} ms are needed.")
    taken = name in set(names)
    if taken:
        st.error(f"There is a service {name!r} already; expected another name, such as {free_name(name, names)}.")
    if st.button("Add the service", type="primary", key="service_add", disabled=taken or not name):
        _append(session, "workloads", {"name": name, "model": model, "rate_rps": rate, "slo_ms": slo})


def _append(session: Session, table: str, row: Mapping[str, object]) -> None:
    frame: pd.DataFrame = getattr(session.tables, table)
    one = pd.DataFrame([row], columns=list(frame.columns))
    changed: dict[str, Any] = {
        table: typed(pd.DataFrame([*frame.to_dict("records"), *one.to_dict("records")], columns=list(frame.columns)))
    }
    state(session, replace(session.tables, **changed))
    session.editor += 1
    st.rerun()


def _fleet(session: Session) -> dict[str, Sequence[str]]:
    """Returns how each GPU type of the fleet may be divided."""
    rows = session.tables.fleet.dropna(subset=["gpu"])
    return {gpu: ways_in(sharing) for gpu, sharing in zip(rows["gpu"], rows["sharing"], strict=True)}


def _facts(session: Session) -> tuple[ModelFacts, ...]:
    return made_once("choosing.facts", (session.tables.profiles,), lambda: model_facts(profiles_of(session)))


def _part_of_slo(session: Session) -> float:
    """Returns the part of an SLO that a batch may take by the settings."""
    settings = session.tables.settings
    return part_of_slo(settings["latency"], settings["slo_fraction"])
