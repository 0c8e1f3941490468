"""A plan for what people run: its files, looked at before they are taken, how to apply them, what they do not say."""

import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import PurePath

import streamlit as st

from sliceplan.app.session.kept import Kept
from sliceplan.app.session.leading import FILES_OPEN
from sliceplan.app.session.session import Session
from sliceplan.solver.api.exporting import by_service, export_formats, values_by_name
from sliceplan.solver.formats.exports.assign import assign, parse_supply
from sliceplan.solver.formats.exports.target import Export, Gpus, Options, Rest
from sliceplan.solver.formats.gpu_uuids import parse_driver_names, parse_uuids
from sliceplan.solver.model.errors import Finding, InputError
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.words import counted

from ...widgets.files import dated_name, offer_file
from ...widgets.memo import made_once
from ...widgets.texts import literal
from .format_names import format_name
from .refusals import reasons, without_repeats
from .stacks import BY_NAME, STACKS, Stack, Step
from .steps import in_download, names_a_node, steps_for
from .words_here import IMAGES as IMAGES_FIELD
from .words_here import NODES as NODES_FIELD
from .words_here import REST as REST_FIELD
from .words_here import UUIDS as UUIDS_FIELD
from .words_here import listed_here, said_here

STACK, FORMAT, NODES, IMAGES = (Kept[str](f"taking.{what}") for what in ("stack", "format", "nodes", "images"))
UUIDS = Kept[tuple[tuple[str, bytes], ...]]("taking.uuids")
REST = Kept[bool]("taking.rest")

WITH_IMAGES = ("deployments", "dra")
WITH_REST = ("mig-parted", "mig-parted-checkpoint", "mig-manager")
NEEDS_UUIDS, NEEDS_IMAGES = "mig-parted-checkpoint", "deployments"
WITH_UUIDS = (*WITH_REST, "node-labels", "device-plugin")

GPUS_A_NODE = 8
"""Of nodes that are assumed."""

MOST_SHOWN = 20_000
"""Characters of a file that are shown before it is downloaded."""

TITLE = "Files for what you run: Kubernetes, Docker, Triton, a router or sliceplan's own agent"

NOT_TRIED = "Not yet tried on a cluster or on hardware: apply the files to one node first."

IMAGES_WANTED = "**Kubernetes Deployments**: add your container images in *Settings* above, and they are here too."


def offer_exports(session: Session, problem: Problem, plan: Plan) -> None:
    """Draws the choice of what one runs, its files, how to apply them, and what they do not say."""
    names = [*(stack.name for stack in STACKS), BY_NAME]
    kept = STACK.of(session)
    # files_come_into_view.js looks for this key.
    with (
        st.container(key="files"),
        st.expander(TITLE, expanded=kept is not None or FILES_OPEN.of(session, False)),
    ):
        chosen = st.selectbox(
            "What do you run?",
            names,
            index=names.index(kept) if kept in names else None,
            placeholder="Choose what the plan is for",
            key="take_stack",
        )
        if chosen is None:
            st.caption("You see the files, how to apply them, and what of the plan they leave out.")
            return
        STACK.keep(session, chosen)
        stack = next((one for one in STACKS if one.name == chosen), None) or _asked_format(session)
        if stack is None:
            return
        st.caption(f"{stack.gives} {NOT_TRIED}")
        formats = [name for name in stack.formats if name in export_formats()]
        images, nodes, uuids, rest = _asked_settings(session, plan, formats)
        called = problem.labels
        make = partial(_made_all, problem, plan.called(called), formats, nodes, images, uuids, rest)
        made = made_once("export", (problem, plan, called, tuple(formats), nodes, images, uuids, rest), make)
        done = {name: export for name, export in made.items() if isinstance(export, Export)}
        refused = _really_refused(made, images)
        if not done:
            _show_refused(refused, tuple(made))
            _offer_instead(_others(_by_reason(refused, tuple(made)), chosen))
            if not refused:
                st.info(IMAGES_WANTED)
        else:
            placed = _placed_or_as_it_is(plan, nodes)
            _show_files(problem, placed, stack, done)
            _show_steps(problem, placed, stack, done)
            wanted = _any_of(formats, WITH_IMAGES) and not images.strip()
            _show_what_is_not_said(stack, done, refused, IMAGES_WANTED if wanted else "", chosen)


def _any_of(formats: Sequence[str], some: Sequence[str]) -> bool:
    return not set(formats).isdisjoint(some)


def _asked_format(session: Session) -> Stack | None:
    """Returns a format that is chosen by its name, as a stack of its own; None: none is."""
    formats = export_formats()
    names = list(formats)
    kept = FORMAT.of(session)
    chosen = st.selectbox(
        "Format",
        names,
        index=names.index(kept) if kept in names else None,
        format_func=format_name,
        placeholder="Choose a format",
        key="take_format",
        help="The same as `sliceplan export PLAN --format NAME` writes.",
    )
    if chosen is None:
        return None
    FORMAT.keep(session, chosen)
    return Stack(format_name(chosen), chosen, (chosen,), _described(formats[chosen].description), (), ())


def _described(description: str) -> str:
    """Returns what a format gives, as Markdown, without the options of the command line that it takes."""
    said = said_here(re.sub(r"; (?:with|takes) --.*", "", description))
    return f"{said[0].upper()}{said[1:]}."


def _made_all(
    problem: Problem,
    plan: Plan,
    formats: Sequence[str],
    nodes: str,
    images: str,
    uuids: tuple[tuple[str, bytes], ...],
    rest: Rest,
) -> dict[str, Export | InputError]:
    return {name: _made(problem, plan, name, nodes, images, uuids, rest) for name in formats}


def _really_refused(made: Mapping[str, Export | InputError], images: str) -> dict[str, InputError]:
    """Returns the forms that cannot hold the plan, with why; not those that only wait for images to be typed."""
    refused = {name: export for name, export in made.items() if isinstance(export, InputError)}
    return {name: error for name, error in refused.items() if name not in WITH_IMAGES or images.strip()}


def _show_refused(refused: Mapping[str, InputError], own: Sequence[str]) -> None:
    """Says why there is no file at all, forms with the same reasons together."""
    for words, names in _by_reason(refused, own).items():
        st.error(f"{_listed_names(names)} cannot be written:\n\n{words}")


def _by_reason(refused: Mapping[str, InputError], own: Sequence[str]) -> dict[str, list[str]]:
    said: dict[str, list[str]] = {}
    for name, error in refused.items():
        said.setdefault(reasons(error, own), []).append(name)
    return said


def _listed_names(names: Sequence[str]) -> str:
    return ", ".join(f"**{format_name(name)}**" for name in names)


def _others(said: Iterable[str], chosen: str) -> list[str]:
    """Returns the choices that reasons name in place of the one that was made."""
    text = "\n".join(said)
    return [stack.name for stack in STACKS if f"“{stack.name}”" in text and stack.name != chosen]


def _offer_instead(others: Sequence[str]) -> None:
    """Draws a button for each other choice."""
    if not others:
        return
    with st.container(horizontal=True):
        for name in others:
            # Of a long name its beginning, which a phone has room for; what it names is chosen above then.
            short = re.split(r" \(|, ", name)[0]
            st.button(f"Choose {short}", key=f"take_instead_{name}", on_click=_choose, args=(name,))


def _choose(name: str) -> None:
    st.session_state["take_stack"] = name


def _asked_settings(
    session: Session, plan: Plan, formats: Sequence[str]
) -> tuple[str, str, tuple[tuple[str, bytes], ...], Rest]:
    """Returns images, nodes, UUIDs, and what becomes of other GPUs: folded where there are files without an answer."""
    names_nodes = all(gpu.node is not None for gpu in plan.gpus)
    with_images, with_uuids, with_rest = (_any_of(formats, some) for some in (WITH_IMAGES, WITH_UUIDS, WITH_REST))
    asked = ["container images"] * with_images + ["nodes"] * (not names_nodes)
    asked += ["UUIDs of the GPUs"] * with_uuids + ["other GPUs of the nodes"] * with_rest
    if not asked:
        return "", "", (), "keep"
    assumed = "" if names_nodes else assumed_nodes(plan)
    nothing_without = set(formats) <= {NEEDS_UUIDS, NEEDS_IMAGES} or not (names_nodes or assumed)
    with st.expander(f"Settings: {', '.join(asked)}", expanded=nothing_without):
        images = _asked_images(session) if with_images else ""
        nodes = "" if names_nodes else _asked_nodes(session, assumed)
        uuids = _asked_uuids(session) if with_uuids else ()
        rest: Rest = _asked_rest(session) if with_rest else "keep"
    if assumed and nodes == assumed:
        st.caption(
            f"The plan names no nodes, so these are assumed, with 8 GPUs each: {literal(assumed)}. Enter yours in "
            "*Settings*."
        )
    return images, nodes, uuids, rest


def _asked_nodes(session: Session, assumed: str) -> str:
    """
    Returns which nodes the GPUs are on, as text: those that were typed, or those that are assumed.

    What is assumed is no value of the field, which would keep it for the next plan as if it had been typed.
    """
    text: str = st.text_input(
        NODES_FIELD,
        value=NODES.of(session, ""),
        placeholder=assumed or "gpu-node-1:8, gpu-node-2:8",
        key="take_nodes",
        help="NAME:COUNT or NAME:COUNT:GPU for each, separated by commas. On the command line: `--nodes`.",
    )
    NODES.keep(session, text)
    return text.strip() or assumed


def assumed_nodes(plan: Plan) -> str:
    """Returns nodes with room for the plan's GPUs, as one would type them; empty: it has CPUs, whose hosts differ."""
    if any(gpu.sharing == "cores" for gpu in plan.gpus):
        return ""
    counts = Counter(gpu.gpu for gpu in plan.gpus)
    full = [
        (kind, min(GPUS_A_NODE, count - first))
        for kind, count in counts.items()
        for first in range(0, count, GPUS_A_NODE)
    ]
    kinds = [f":{kind}" if len(counts) > 1 else "" for kind, _ in full]
    named = enumerate(zip(full, kinds, strict=True), 1)
    return ", ".join(f"gpu-node-{number}:{count}{kind}" for number, ((_, count), kind) in named)


def _asked_images(session: Session) -> str:
    text: str = st.text_area(
        IMAGES_FIELD,
        value=IMAGES.of(session, ""),
        placeholder="registry.example/server:1.0\nsearch=registry.example/search:2.3",
        key="take_images",
        help="One a line: IMAGE for all services, SERVICE=IMAGE for one. On the command line: `--image`.",
    )
    IMAGES.keep(session, text)
    return text


def _asked_uuids(session: Session) -> tuple[tuple[str, bytes], ...]:
    """Returns the files with the GPUs' UUIDs: name, contents."""
    files = st.file_uploader(
        f"{UUIDS_FIELD}, a file a node: NODE.txt",
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
        f"{REST_FIELD}, with MIG off",
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
        placed = _placed(plan, nodes)
        lines = [line.strip() for line in images.splitlines() if line.strip()]
        listed, driver_names = _listed_gpus(placed, uuids)
        called = placed.called(problem.labels)
        options = Options(
            source="the plan",
            problem=problem,
            uuids=listed,
            driver_names=driver_names,
            rest=rest,
            images=by_service(values_by_name(lines, "--image"), called, "--image"),
        )
        return export_formats()[name].export(placed, options)
    except InputError as error:
        return error


def _placed(plan: Plan, nodes: str) -> Plan:
    """Returns the plan on the nodes that were typed; InputError if it does not fit there or they cannot be read."""
    supplies = [parse_supply(part.strip()) for part in nodes.split(",") if part.strip()]
    return assign(plan, supplies) if supplies else plan


def _placed_or_as_it_is(plan: Plan, nodes: str) -> Plan:
    try:
        return _placed(plan, nodes)
    except InputError:
        return plan


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


def _show_files(problem: Problem, plan: Plan, stack: Stack, made: Mapping[str, Export]) -> None:
    """Draws the files, to take and to look into."""
    if plan.violations:
        st.error("The plan misses SLOs, and so will these files.")
    files = in_download(made)
    shown = st.selectbox("File", list(files), key="take_shown") if len(files) > 1 else next(iter(files))
    text = files[shown]
    st.code(text[:MOST_SHOWN] + ("\n…" if len(text) > MOST_SHOWN else ""), language=None, height=300, wrap_lines=True)
    if len(files) == 1:
        file_name = PurePath(shown).name
        label = f"Download {dated_name(problem.name, file_name)}"
        offer_file(label, text, problem.name, file_name, key="take_export", width="content")
    else:
        label = f"Download {len(files)} files (zip)"
        offer_file(label, partial(zipped, files), problem.name, f"{stack.slug}.zip", key="take_export", width="content")


def _show_steps(problem: Problem, plan: Plan, stack: Stack, made: Mapping[str, Export]) -> None:
    """Draws how the files are applied: numbered steps, each with its commands to copy."""
    steps = steps_for(stack.how, made, problem.name, plan)
    if not steps:
        return
    st.markdown("**How to apply**")
    if any(names_a_node(step) for step in stack.how) and all(gpu.node is None for gpu in plan.gpus):
        st.warning("The plan names no nodes yet. Enter yours in *Settings*, each with its GPUs, as `gpu-node-1:8`.")
    if len(in_download(made)) > 1 and any(step.commands for step in steps):
        steps = [Step("Unpack the archive, and run the commands in its folder."), *steps]
    for number, step in enumerate(steps, 1):
        st.markdown(f"{number}. {step.text}")
        if step.commands:
            st.code("\n".join(step.commands), language="sh", wrap_lines=True)


def _show_what_is_not_said(
    stack: Stack, made: Mapping[str, Export], refused: Mapping[str, InputError], wanted: str, chosen: str
) -> None:
    """Draws a line for each thing that the files do not say, and the details behind a fold."""
    own = (*made, *refused)
    by_reason = _by_reason(refused, own)
    others = _others(by_reason, chosen)
    missing = "cannot hold this plan" + "; another choice can, below" * bool(others)
    lines = [f"{_listed_names(names)}: {missing}." for names in by_reason.values()]
    lines = [*([wanted] if wanted else []), *lines, *stack.not_said]
    if lines:
        st.markdown("\n".join(["**What these files do not say**", "", *(f"- {one}" for one in lines)]))
    _offer_instead(others)
    warnings = without_repeats((one for export in made.values() for one in export.warnings), refused.values())
    if not by_reason and not warnings:
        return
    counts = ["why a file is missing"] * bool(by_reason) + [counted(len(warnings), "note")] * bool(warnings)
    with st.expander(f"Details: {' and '.join(counts)}"):
        for words, names in by_reason.items():
            st.markdown(f"{_listed_names(names)} cannot be written:\n\n{words}")
        if warnings:
            st.markdown(listed_here(warnings, own))


def zipped(files: Mapping[str, str]) -> bytes:
    """Returns files in a zip archive; equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
