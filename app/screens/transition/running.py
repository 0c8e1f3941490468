"""What runs today: the plan, a plan file, or the state of a node as the command line reads it too."""

from datetime import UTC, datetime

import streamlit as st

from sliceplan.app.session.kept import Kept
from sliceplan.app.session.leading import lead_to
from sliceplan.app.session.plan_origin import note_origin, origin_in_words
from sliceplan.app.session.session import Answer, Session, is_same
from sliceplan.app.widgets.texts import literal, sentence
from sliceplan.solver.formats.live_state.live_gpus import LiveState, running_plan
from sliceplan.solver.formats.live_state.mig_parted_checkpoint import read_checkpoint
from sliceplan.solver.formats.live_state.node_json import read_node
from sliceplan.solver.formats.live_state.nvidia_smi import read_instances
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.consistency import refuse_contradictions
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.errors import Finding, InputError
from sliceplan.solver.model.parsing import parse_record, parse_text
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.words import boards_in_words
from sliceplan.solver.wording.what_is_proven import summary_and_what_of

NOTES = Kept[tuple[str, ...]]("running.notes")
"""What reading the file took for granted."""

SINCE = Kept[tuple[Plan, datetime]]("running.since")
"""The plan that was set as what runs, and when (UTC)."""

WRONG = Kept[tuple[str, tuple[str, ...]]]("running.wrong")
"""The uploaded file that could not be read, and why."""

PLAN, CHECKPOINT, INSTANCES, NODE = "plan", "mig-parted checkpoint", "nvidia-smi mig -lgi", "kubectl get node -o json"

LABELLED = "as the node's labels say"
"""Instead of a GPU type."""

KINDS = {
    PLAN: "a plan of sliceplan (JSON)",
    CHECKPOINT: "of `nvidia-mig-parted checkpoint`, one node",
    INSTANCES: "the output of `nvidia-smi mig -lgi` on one node",
    NODE: "the output of `kubectl get node NAME -o json`",
}


def choose_running(session: Session) -> None:
    """Shows what runs today, with ways to say so."""
    st.header("Runs today")
    running, answer = session.running, session.answer
    if running is None:
        st.markdown("Not known yet.")
    elif running.plan.cost_per_hour is None:
        count = boards_in_words(running.plan.gpus)
        st.markdown(f"**{literal(running.plan.problem.name)}**: {count}, as read from the node")
    else:
        st.markdown(
            f"**{literal(running.plan.problem.name)}**: {literal(summary_and_what_of(running.plan, running.plan.gap))}"
        )
    if running is not None:
        st.caption(_since(session, running))
    buttons = st.container(horizontal=True)
    can_take = (
        answer is not None and bool(answer.plan.gpus) and (running is None or not is_same(answer.plan, running.plan))
    )
    buttons.button(
        "Set this plan as what runs",
        key="running_is_last",
        disabled=not can_take,
        on_click=_take_last,
        args=(session,),
        help="That of the screen Plan. Then change the problem and solve: the way from here to there is shown.",
    )
    buttons.button(
        "Choose a saved plan",
        key="running_is_saved",
        on_click=lead_to,
        args=(session, "history"),
        help="On the screen History, under Plans: choose one, and press *Set as what runs now*.",
    )
    if running is not None:
        buttons.button("Clear", key="running_clear", on_click=_clear, args=(session,))
    with st.expander("Or upload what runs"):
        _offer_upload(session)
    for note in NOTES.of(session, ()):
        st.caption(literal(note))


def _since(session: Session, running: Answer) -> str:
    """Returns which version what runs is, and since when the session takes it for what runs, as Markdown."""
    plan, at = SINCE.of(session, (None, None))
    said = literal(sentence(origin_in_words(session, running)))
    if at is None or plan is not running.plan:
        return said
    return f"{said} Set as what runs {at:%Y-%m-%d %H}\\:{at:%M} UTC."  # a bare colon is a directive's


def _take_last(session: Session) -> None:
    answer = session.answer
    if answer is not None:
        SINCE.keep(session, (answer.plan, datetime.now(UTC)))
    _set(session, answer, ())


def _clear(session: Session) -> None:
    _set(session, None, ())


def _set(session: Session, running: Answer | None, notes: tuple[str, ...]) -> None:
    """Notes what runs; what was found from another beginning is no answer any more."""
    session.running = running
    NOTES.keep(session, notes)
    WRONG.forget(session)
    session.results.pop("replan", None)


def _offer_upload(session: Session) -> None:
    kind = st.selectbox("The file is", list(KINDS), key="running_kind", help="; ".join(KINDS.values()))
    gpu, node, services = "", "", None
    if kind != PLAN:
        left, right = st.columns(2)
        labelled = [LABELLED] if kind == NODE else []
        gpu = left.selectbox("of GPUs of the type", [*labelled, *_types_first(session)], key="running_gpu")
        node = right.text_input("on the node", key="running_node", disabled=kind == NODE, placeholder="gpu-node-1")
        answer = session.answer
        if answer is not None and st.checkbox(
            "The plan's services run where it has them",
            key="running_services",
            help="The file does not tell what runs in the partitions; without this, nothing does.",
        ):
            services = answer.plan
    upload = st.file_uploader("File", type=["json", "yaml", "yml", "txt"], key="running_file")
    if st.button("This runs today", key="running_upload", disabled=upload is None) and upload is not None:
        try:
            text = upload.getvalue().decode("utf-8-sig")
            plan, notes = _read(kind, text, upload.name, gpu, node, services)
        except UnicodeDecodeError:
            WRONG.keep(session, (upload.file_id, (f"{upload.name}: is not UTF-8 text",)))
        except InputError as error:
            WRONG.keep(session, (upload.file_id, tuple(map(str, error.findings))))
        else:
            note_origin(session, plan, f"from the file {upload.name}")
            _set(session, Answer(_problem_of(session, plan), plan), notes)
            st.rerun()
    file, findings = WRONG.of(session, ("", ()))
    if upload is not None and upload.file_id == file:
        for finding in findings:
            st.error(literal(finding))


def _read(
    kind: str, text: str, source: str, gpu: str, node: str, services: Plan | None
) -> tuple[Plan, tuple[str, ...]]:
    """Returns the plan that a file holds or stands for, and notes; raises InputError."""
    if kind == PLAN:
        plan = parse_record(Plan, parse_text(text, source, is_json=True), source)
        refuse_contradictions(plan, source)
        if not plan.gpus:
            raise InputError([Finding(source, "gpus", "is empty; a plan that runs has GPUs")])
        return plan, ()
    name, state = _read_state(kind, text, source, gpu, node.strip())
    if not name:
        raise InputError([Finding("on the node", "", "is empty; the file does not tell which node it is of")])
    return running_plan(state, name, source, text, services)


def _read_state(kind: str, text: str, source: str, gpu: str, node: str) -> tuple[str, LiveState]:
    if kind == NODE:
        return read_node(text, source, {} if gpu == LABELLED else {None: gpu})
    if kind == CHECKPOINT:
        return node, read_checkpoint(text, source, {None: gpu}, {})
    return node, read_instances(text, source, {None: gpu})


def _types_first(session: Session) -> list[str]:
    """Returns the GPU types of the catalogue, those of the fleet first."""
    own = [entry.gpu for entry in session.problem.fleet] if session.problem else []
    return list(dict.fromkeys([*own, *load_catalogue()]))


def _problem_of(session: Session, plan: Plan) -> Problem:
    """Returns the problem that an uploaded plan answers where it is known, else the one at hand."""
    at_hand = [problem for problem in (session.problem, session.answer and session.answer.problem) if problem]
    known = [*at_hand, *example_problems().values()]
    return next((problem for problem in known if reference(problem).sha256 == plan.problem.sha256), known[0])
