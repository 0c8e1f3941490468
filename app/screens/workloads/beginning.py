"""The problem as a whole: its name, its file, and what to begin with instead: an example, or a file of one's own."""

import streamlit as st

from sliceplan.app.session.session import Session, open_problem
from sliceplan.app.session.uploaded import MOST_MIB, uploaded_problem
from sliceplan.app.widgets.files import offer_file
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.formats.problem_files import dump_problem, example_problems
from sliceplan.solver.model.errors import Finding, InputError
from sliceplan.solver.model.problem import Problem

from .editors import edit_name

SHOWS = {
    "capacity": "The demo's services on four A100s that are there anyway: as many requests as these can carry.",
    "cpus": "Eight services on A100s and on CPUs that are there anyway; the CPU measurements are made up.",
    "demo": "Eight services of a shop front on A100s cut by MIG: where to begin.",
    "igniter": "Twelve services that share V100s by MPS, with interference between them, as in iGniter's paper.",
    "mixed": "Three GPU types at once: A100s cut by MIG, V100s and T4s shared by MPS or used whole.",
    "parvagpu-s1": "Six services at low rates from ParvaGPU's paper: several fit on one GPU.",
    "parvagpu-s2": "Eleven services from ParvaGPU's paper, at its lowest rates of that set.",
    "parvagpu-s3": "Eleven services from ParvaGPU's paper, rates and SLOs of its scenario S3.",
    "parvagpu-s4": "Eleven services from ParvaGPU's paper, rates and SLOs of its scenario S4.",
    "parvagpu-s5": "Eleven services from ParvaGPU's paper at high rates: a dozen GPUs.",
    "parvagpu-s6": "Eleven services from ParvaGPU's paper at its highest rates: 17 GPUs.",
}
"""What each shipped example is good for."""

FINDINGS = "upload_findings"
"""Where the browser's session keeps what is wrong with the file that was chosen."""

LISTED = 8
"""Findings that stand on the page; the others are a click away."""


def choose_beginning(session: Session) -> None:
    """Draws them, folded: the services are what one comes for."""
    tables, problem = session.tables, session.problem
    title = f"Problem: {tables.name}. Name, file, examples and upload"
    with st.expander(literal(title), expanded=tables.workloads.empty, key="fold_problem"):
        edit_name(session)
        _choose(session)
        offer_file(
            "Download problem",
            lambda: dump_problem(problem) if problem else "",
            tables.name,
            "problem.yaml",
            key="download_problem",
            width="content",
            disabled=problem is None,
        )


def _choose(session: Session) -> None:
    left, right = st.columns(2)
    with left:
        names = list(_examples())
        chosen = st.selectbox("Example problems", names, key="example")
        st.caption(SHOWS.get(chosen, f"{len(_examples()[chosen].workloads)} services."))
        if st.button("Load example", key="load_example"):
            open_problem(session, _examples()[chosen])
            st.rerun()
    with right:
        upload = st.file_uploader(
            "Or upload a problem (YAML or JSON)",
            type=["yaml", "yml", "json"],
            key="upload",
            max_upload_size=MOST_MIB,
            on_change=_open_upload,
            args=(session,),
            help="A file from *Download problem* or for the command line. For tables as CSV, use *Paste*.",
        )
        if upload is not None:
            show_findings(upload.name, st.session_state.get(FINDINGS, ()))


def _open_upload(session: Session) -> None:
    """
    Opens the file that was chosen, or notes what is wrong with it.

    A callback: a press on Solve that comes in the same run leads to another screen, which would not read the file.
    """
    upload = st.session_state["upload"]
    st.session_state[FINDINGS] = ()
    if upload is None:  # taken back
        return
    try:
        open_problem(session, uploaded_problem(upload.name, upload.getvalue()))
    except InputError as error:
        st.session_state[FINDINGS] = error.findings


def show_findings(name: str, findings: tuple[Finding, ...]) -> None:
    """Says all that is wrong with a file: the first findings at once, the others when asked."""
    if not findings:
        return
    count = f"{len(findings)} thing{'s' if len(findings) > 1 else ''}"
    lines = [f"- {_plain(finding)}" for finding in findings]
    st.error("\n".join([f"{literal(name)} was not opened; {count} must be corrected:", "", *lines[:LISTED]]))
    if rest := lines[LISTED:]:
        with st.expander(f"{len(rest)} more"):
            st.markdown("\n".join(rest))


def _plain(finding: Finding) -> str:
    where = f"{finding.path} " if finding.path else ""
    return literal(f"{where}{finding.message}")


@st.cache_resource
def _examples() -> dict[str, Problem]:
    return example_problems()
