"""One's own services, from a spreadsheet, a file or three fields, to a plan by one press."""

import itertools
import re
from collections import Counter
from collections.abc import Sequence

import pandas as pd
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from sliceplan.app.session.column_choices import is_open
from sliceplan.app.session.leading import lead_to
from sliceplan.app.session.own_profiles import profiles_of
from sliceplan.app.session.problem_state import stated, wrong_in
from sliceplan.app.session.session import Session, Tables, open_problem
from sliceplan.app.session.stand_ins import StandIn, note_stand_ins
from sliceplan.app.session.uploaded import MOST_MIB, text_of, uploaded_problem
from sliceplan.app.tables.catalogue import ModelFacts, model_facts
from sliceplan.app.tables.labels import LABELS, in_words, texts_of
from sliceplan.app.tables.pasted import read_table
from sliceplan.app.tables.problem import FLEET_COLUMNS, WORKLOAD_COLUMNS, typed
from sliceplan.app.widgets.actions import ask, solve_now
from sliceplan.app.widgets.column_choice import choose_columns
from sliceplan.app.widgets.dialogs import dialog
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.tables import heads_of, show_table
from sliceplan.app.widgets.texts import listed, literal, sentence
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.problem import Problem, Settings
from sliceplan.solver.model.promise import NEW_SETTINGS
from sliceplan.solver.wording.sharing_words import SHARING_WORDS, sharing_in_words

from .unknown_models import choose_for_unknown

SAMPLE = "service\tmodel\trps\tslo (ms)\nsearch\tresnet50\t120\t200\nphotos\tvgg16\t80\t250"

NAME = "my-services"

MOST_SHOWN = 8
"""Things to put right that are listed."""


@dialog("My services", width="medium")
def ask_for_services(session: Session) -> None:
    """Takes services and a GPU type, and leads to their plan."""
    facts = made_once("own_services.facts", (session.tables.profiles,), lambda: model_facts(profiles_of(session)))
    gpus = [gpu for gpu, _ in Counter(one.gpu for one in facts).most_common()]
    gpu = st.selectbox("GPU type", gpus, key="own_gpu", help="GPU types with known model speeds")
    known = [one for one in facts if one.gpu == gpu]
    pasted, filled = st.tabs(["Paste or upload", "Type one"])
    with pasted:
        _show_paste(session, gpu, known)
    with filled:
        _show_form(session, gpu, known)


def _show_paste(session: Session, gpu: str, known: Sequence[ModelFacts]) -> None:
    models = list(dict.fromkeys(one.model for one in known))
    text = st.text_area(
        "Rows from a spreadsheet, with their column names",
        key="own_cells",
        height=140,
        placeholder=SAMPLE,
        help="Read when you leave the field, or press Ctrl+Enter.",
    )
    units = "Rates in requests per second and SLOs in milliseconds, unless the table says otherwise"
    st.caption(literal(f"{units}. Models known on {gpu}: {', '.join(models)}."))
    # What comes of it stands above the file's place: below, a phone or a laptop would not show it.
    answer = st.container()
    file = st.file_uploader(
        "Or a file: services as CSV, a whole problem as YAML or JSON",
        type=["csv", "tsv", "txt", "yaml", "yml", "json"],
        key="own_file",
        max_upload_size=MOST_MIB,
    )
    with answer:
        _show_read(session, gpu, known, text, file)


def _show_read(session: Session, gpu: str, known: Sequence[ModelFacts], text: str, file: UploadedFile | None) -> None:
    """Offers to plan what a file has, or else the cells; or says what must be put right."""
    models = list(dict.fromkeys(one.model for one in known))
    try:
        if file is not None and not file.name.lower().endswith((".csv", ".tsv", ".txt")):
            problem = uploaded_problem(file.name, file.getvalue())
            if findings := wrong_in(problem):
                _say_wrong([f"{finding.path} {finding.message}".strip() for finding in findings])
            else:
                _offer(session, problem, len(problem.workloads))
            return
        if file is not None:
            text = text_of(file.name, file.getvalue())
    except InputError as error:
        _say_wrong([f"{finding.path} {finding.message}".strip() for finding in error.findings])
        return
    if not text.strip():
        return
    read = read_table(text, "workloads", {"model": models})
    if is_open(read.header):
        read = read_table(text, "workloads", {"model": models}, choose_columns(read.header, "own"))
    wrong = [
        *(in_words(problem) for problem in read.problems),
        *(f"row {i + 1}: {in_words(mark, 'workloads')}" for i, mark in enumerate(read.marks) if mark),
    ]
    if wrong:
        _say_wrong(wrong)
        return
    if missing := [LABELS["workloads"][name].text for name in read.header.missing]:
        _say_wrong([f"no column for {' or '.join(missing)} was found; choose it above"])
        return
    found = choose_for_unknown(session, gpu, models, read.rows)
    if found is not None:
        rows, stand_ins = found
        _offer_rows(session, gpu, known, rows, stand_ins=stand_ins)
        for note in read.notes:
            st.caption(literal(sentence(in_words(note))))
        if len(rows) > MOST_SHOWN:
            st.caption(f"As they were read, the first {MOST_SHOWN} of {len(rows):,}; all of them are planned:")
        show_table(rows[list(read.columns)].head(MOST_SHOWN), "own_rows", columns=heads_of(texts_of("workloads")))


def _show_form(session: Session, gpu: str, known: Sequence[ModelFacts]) -> None:
    model = st.selectbox("Model", list(dict.fromkeys(one.model for one in known)), key="own_model")
    rate_at, slo_at = st.columns(2)
    rate = rate_at.number_input("Requests per second", min_value=0.01, value=100.0, key="own_rate")
    slo = slo_at.number_input("SLO, milliseconds", min_value=0.01, value=250.0, key="own_slo")
    row = {"name": model, "model": model, "rate_rps": rate, "slo_ms": slo}
    _offer_rows(session, gpu, known, typed(pd.DataFrame([row], columns=list(WORKLOAD_COLUMNS))), key="own_plan_one")


def _offer_rows(
    session: Session,
    gpu: str,
    known: Sequence[ModelFacts],
    rows: pd.DataFrame,
    key: str = "own_plan",
    stand_ins: tuple[StandIn, ...] = (),
) -> None:
    """Offers to plan services on as many GPUs of a type as they take; or says what keeps them from it."""
    ways = sorted({way for one in known for way in one.sharing})
    usual = SHARING_WORDS["mig"] if "mig" in ways else sharing_in_words(ways)
    fleet = typed(pd.DataFrame([{"gpu": gpu, "sharing": usual}], columns=list(FLEET_COLUMNS)))
    settings = {name: getattr(NEW_SETTINGS, name) for name in Settings.model_fields}
    problem, findings = stated(Tables(name_for(session, rows), fleet, rows, settings, profiles=session.tables.profiles))
    if problem is None:
        _say_wrong([_in_row(f"{finding.path} {finding.message}") for finding in findings])
        return
    _offer(session, problem, len(rows), key, stand_ins)


def name_for(session: Session, rows: pd.DataFrame) -> str:
    """
    Returns what the problem of these services is called: as the one at hand if that has half of them, else a new name.

    Two problems of one name would be taken for versions of one.
    """
    at_hand = session.tables
    names, there = set(rows["name"]), set(at_hand.workloads["name"])
    if at_hand.name.startswith(NAME) and 2 * len(names & there) >= max(len(names), len(there)):
        return at_hand.name
    taken = {at_hand.name, *(state.tables.name for state in (*session.past, *session.future))}
    numbered = (f"{NAME}-{count}" for count in itertools.count(2))
    return next(name for name in itertools.chain([NAME], numbered) if name not in taken)


def _offer(
    session: Session, problem: Problem, count: int, key: str = "own_plan", stand_ins: tuple[StandIn, ...] = ()
) -> None:
    at_hand = session.tables
    if session.saved_as is None and at_hand.name.startswith(NAME):
        st.caption(
            f"This takes the place of **{literal(at_hand.name)}**, which is not saved. *Undo* on *Services and fleet* "
            "brings it back."
        )
    if st.button(f"Plan {count:,} services" if count != 1 else "Plan this service", type="primary", key=key):
        open_and_solve(session, problem)
        note_stand_ins(session, stand_ins)
        st.rerun()


def _in_row(text: str) -> str:
    """Returns a finding with the row that its reader sees, as `row 2: Model ...` for `workloads[1].model ...`."""
    found = re.fullmatch(r"workloads\[(\d+)\]\.?(.*)", text, re.DOTALL)
    return in_words(text) if found is None else f"row {int(found[1]) + 1}: {in_words(found[2].strip(), 'workloads')}"


def _say_wrong(texts: Sequence[str]) -> None:
    more = f"\n- and {len(texts) - MOST_SHOWN:,} more" if len(texts) > MOST_SHOWN else ""
    st.error(f"Please correct this first:\n\n{listed(texts[:MOST_SHOWN])}{more}")


def open_and_solve(session: Session, problem: Problem) -> None:
    """Makes a problem the session's, and leads to its plan."""
    open_problem(session, problem)
    ask(session, solve_now)
    lead_to(session, "plan")
