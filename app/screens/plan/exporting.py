"""A plan in the forms that other tools take, as the command line writes them: chosen, with what each needs."""

import io
import zipfile
from collections.abc import Mapping
from functools import partial
from pathlib import PurePath

import streamlit as st

from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.solver.api.exporting import export_formats, values_by_name
from sliceplan.solver.formats.exports.assign import assign, parse_supply
from sliceplan.solver.formats.exports.target import Export, Gpus, Options, Rest
from sliceplan.solver.formats.gpu_uuids import parse_driver_names, parse_uuids
from sliceplan.solver.model.errors import Finding, InputError
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem

from ...widgets.files import offer_file
from ...widgets.memo import made_once
from ...widgets.texts import listed, literal

FORMAT, NODES, IMAGES = (Kept[str](f"taking.{what}") for what in ("format", "nodes", "images"))
UUIDS = Kept[tuple[tuple[str, bytes], ...]]("taking.uuids")
REST = Kept[bool]("taking.rest")

WITH_IMAGES = ("deployments", "dra")
WITH_REST = ("mig-parted", "mig-parted-checkpoint", "mig-manager")
WITH_UUIDS = (*WITH_REST, "node-labels", "device-plugin")

MOST_SHOWN = 20_000
"""Characters of a file that are shown before it is taken away."""


def offer_exports(session: Session, problem: Problem, plan: Plan) -> None:
    """Draws the choice of a form, what it needs, and its files; or why it cannot say what the plan says."""
    formats = export_formats()
    names = list(formats)
    with st.expander("For other tools: Kubernetes, MIG managers, Triton, scripts", expanded=FORMAT.is_there(session)):
        kept = FORMAT.of(session)
        chosen = st.selectbox(
            "Format",
            names,
            index=names.index(kept) if kept in names else None,
            format_func=lambda name: f"{name}: {formats[name].description}",
            placeholder="Choose what the plan is for",
            key="take_format",
            help="The same as `sliceplan export PLAN --format NAME`.",
        )
        if chosen is None:
            st.caption("Each form is exact, or says why it cannot hold this plan.")
            return
        FORMAT.keep(session, chosen)
        nodes = _asked_nodes(session, plan)
        images = _asked_images(session) if chosen in WITH_IMAGES else ""
        uuids = _asked_uuids(session) if chosen in WITH_UUIDS else ()
        rest: Rest = _asked_rest(session) if chosen in WITH_REST else "keep"
        make = partial(_made, problem, plan, chosen, nodes, images, uuids, rest)
        made = made_once("export", (problem, plan, chosen, nodes, images, uuids, rest), make)
        if isinstance(made, InputError):
            st.error("\n".join([f"`{chosen}` cannot be written:", "", listed(map(str, made.findings))]))
            return
        _show(problem, plan, chosen, made)


def _asked_nodes(session: Session, plan: Plan) -> str:
    """Returns which nodes the GPUs are on, as text; empty: the plan says it."""
    if all(gpu.node is not None for gpu in plan.gpus):
        return ""
    text: str = st.text_input(
        "Nodes (--nodes)",
        value=NODES.of(session, ""),
        placeholder="gpu-node-1:8, gpu-node-2:8",
        key="take_nodes",
        help="The plan names no nodes. NAME:COUNT or NAME:COUNT:GPU for each, separated by commas.",
    )
    NODES.keep(session, text)
    return text


def _asked_images(session: Session) -> str:
    text: str = st.text_area(
        "Container images (--image)",
        value=IMAGES.of(session, ""),
        placeholder="registry.example/server:1.0\nsearch=registry.example/search:2.3",
        key="take_images",
        help="One a line: IMAGE for all services, WORKLOAD=IMAGE for one.",
    )
    IMAGES.keep(session, text)
    return text


def _asked_uuids(session: Session) -> tuple[tuple[str, bytes], ...]:
    """Returns the files with the GPUs' UUIDs: name, contents."""
    files = st.file_uploader(
        "Output of `nvidia-smi -L` (--uuids), a file a node: NODE.txt",
        accept_multiple_files=True,
        key="take_uuids",
        max_upload_size=1,
    )
    if files:
        UUIDS.keep(session, tuple((file.name, file.getvalue()) for file in files))
    kept: tuple[tuple[str, bytes], ...] = UUIDS.of(session, ())
    if kept and not files:
        st.caption(f"Known from before: {literal(', '.join(name for name, _ in kept))}.")
    return kept


def _asked_rest(session: Session) -> Rest:
    """Returns what becomes of GPUs of a node that the plan does not list."""
    off: bool = st.checkbox(
        "List the node's other GPUs too, with MIG off (--rest mig-off)",
        value=REST.of(session, False),
        key="take_rest",
        help="Only then does mig-parted find the configuration applied. Instances on those GPUs are destroyed.",
    )
    REST.keep(session, off)
    return "mig-off" if off else "keep"


def _made(
    problem: Problem,
    plan: Plan,
    name: str,
    nodes: str,
    images: str,
    uuids: tuple[tuple[str, bytes], ...],
    rest: Rest,
) -> Export | InputError:
    try:
        supplies = [parse_supply(part.strip()) for part in nodes.split(",") if part.strip()]
        placed = assign(plan, supplies) if supplies else plan
        lines = [line.strip() for line in images.splitlines() if line.strip()]
        listed, driver_names = _listed_gpus(placed, uuids)
        options = Options(
            source="the plan",
            problem=problem,
            uuids=listed,
            driver_names=driver_names,
            rest=rest,
            images=values_by_name(lines, "--image"),
        )
        return export_formats()[name].export(placed, options)
    except InputError as error:
        return error


def _listed_gpus(plan: Plan, files: tuple[tuple[str, bytes], ...]) -> tuple[Gpus, Gpus]:
    """Returns UUIDs and names of the nodes' GPUs."""
    nodes = sorted({gpu.node for gpu in plan.gpus if gpu.node is not None})
    found: dict[tuple[str, int], str] = {}
    names: dict[tuple[str, int], str] = {}
    for name, contents in files:
        stem = PurePath(name).stem
        node = nodes[0] if len(nodes) == 1 else stem
        if node not in nodes:
            message = f"is of which node? Name the file NODE.txt; the plan has {', '.join(nodes) or 'no nodes'}"
            raise InputError([Finding("--uuids", name, message)])
        try:
            text = contents.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputError([Finding("--uuids", name, "is not UTF-8 text")]) from None
        found |= {(node, index): uuid for index, uuid in parse_uuids(text, name).items()}
        names |= {(node, index): driver_name for index, driver_name in parse_driver_names(text).items()}
    return found, names


def _show(problem: Problem, plan: Plan, name: str, made: Export) -> None:
    if plan.violations:
        st.error("The plan misses SLOs, and so will this.")
    if made.warnings:
        st.warning(listed(made.warnings))
    files = made.files
    if len(files) == 1:
        (file, text) = next(iter(files.items()))
        file_name = PurePath(file).name
        offer_file(f"Download {file_name}", text, problem.name, file_name, key="take_export", width="content")
    else:
        label = f"Download {len(files)} files (zip)"
        offer_file(label, partial(zipped, files), problem.name, f"{name}.zip", key="take_export", width="content")
    shown = st.selectbox("Look into", list(files), key="take_shown") if len(files) > 1 else next(iter(files))
    text = files[shown]
    st.code(text[:MOST_SHOWN] + ("\n…" if len(text) > MOST_SHOWN else ""), language=None, height=300)


def zipped(files: Mapping[str, str]) -> bytes:
    """Returns files in a zip archive; equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
