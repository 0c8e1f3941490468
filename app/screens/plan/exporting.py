"""A plan for what people run: its files, looked at before they are taken, how to apply them, what they cannot say."""

import io
import re
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
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

from ...widgets.files import dated_name, offer_file
from ...widgets.memo import made_once
from ...widgets.texts import literal
from .refusals import reasons, without_repeats
from .stacks import BY_NAME, STACKS, Stack
from .steps import commands_in, in_download, steps_for
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
NEEDS_UUIDS = "mig-parted-checkpoint"
WITH_UUIDS = (*WITH_REST, "node-labels", "device-plugin")

GPUS_A_NODE = 8
"""Of nodes that are assumed."""

MOST_SHOWN = 20_000
"""Characters of a file that are shown before it is taken away."""


def offer_exports(session: Session, problem: Problem, plan: Plan) -> None:
    """Draws the choice of what one runs, what its forms need, and their files; or why they cannot hold the plan."""
    names = [*(stack.name for stack in STACKS), BY_NAME]
    kept = STACK.of(session)
    # files_come_into_view.js looks for this key.
    with (
        st.container(key="files"),
        st.expander(
            "For what you run: Kubernetes, Docker, Triton, a router, sliceplan's own agent",
            expanded=kept is not None or FILES_OPEN.of(session, False),
        ),
    ):
        chosen = st.selectbox(
            "What do you run?",
            names,
            index=names.index(kept) if kept in names else None,
            placeholder="Choose what the plan is for",
            key="take_stack",
        )
        if chosen is None:
            st.caption(
                "Each form is exact, or says why it cannot hold this plan. You see the files before you take them."
            )
            return
        STACK.keep(session, chosen)
        stack = next((one for one in STACKS if one.name == chosen), None) or _asked_format(session)
        if stack is None:
            return
        st.markdown(stack.gives)
        formats = [name for name in stack.formats if name in export_formats()]
        images = _asked_images(session) if _any_of(formats, WITH_IMAGES) else ""
        nodes, uuids, rest = _asked_more(session, plan, formats)
        called = problem.labels
        make = partial(_made_all, problem, plan.called(called), formats, nodes, images, uuids, rest)
        made = made_once("export", (problem, plan, called, tuple(formats), nodes, images, uuids, rest), make)
        _offer_instead(_show_refused(made, images), chosen)
        if done := {name: export for name, export in made.items() if isinstance(export, Export)}:
            refused = [error for error in made.values() if isinstance(error, InputError)]
            _show(problem, _placed_or_as_it_is(plan, nodes), stack, done, refused)


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
        format_func=lambda name: f"{name}: {_described(formats[name].description)}",
        placeholder="Choose a format",
        key="take_format",
        help="The same as `sliceplan export PLAN --format NAME`.",
    )
    if chosen is None:
        return None
    FORMAT.keep(session, chosen)
    return Stack(chosen, chosen, (chosen,), f"`{chosen}`: {said_here(_described(formats[chosen].description))}", (), ())


def _described(description: str) -> str:
    """Returns what a format gives, without the options of the command line that it takes."""
    return re.sub(r"; (?:with|takes) --.*", "", description)


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


def _show_refused(made: Mapping[str, Export | InputError], images: str) -> str:
    """
    Says of each form that cannot hold the plan why; gravely where none can. What is only not typed yet is asked.

    Returns the reasons.
    """
    refused = {name: export for name, export in made.items() if isinstance(export, InputError)}
    for name in [name for name in refused if name in WITH_IMAGES and not images.strip()]:
        st.info(
            f"`{name}` needs the container image of your services: type it above, one for all or one for each. "
            "With it come its file and the step that applies it."
        )
        del refused[name]
    said: dict[str, list[str]] = {}
    for name, error in refused.items():
        said.setdefault(reasons(error, tuple(made)), []).append(name)
    for words, names in said.items():
        lines = [f"{', '.join(f'`{name}`' for name in names)} cannot be written:", "", words]
        (st.error if len(refused) == len(made) else st.warning)("\n".join(lines))
    return "\n".join(said)


def _offer_instead(reasons_said: str, chosen: str) -> None:
    """Draws a button for each choice that the reasons name in place of the one that was made."""
    named = [stack.name for stack in STACKS if f"“{stack.name}”" in reasons_said and stack.name != chosen]
    if not named:
        return
    with st.container(horizontal=True):
        for name in named:
            # Of a long name its beginning, which a phone has room for; what it names is chosen above then.
            short = re.split(r" \(|, ", name)[0]
            st.button(f"Choose {short}", key=f"take_instead_{name}", on_click=_choose, args=(name,))


def _choose(name: str) -> None:
    st.session_state["take_stack"] = name


def _asked_more(
    session: Session, plan: Plan, formats: Sequence[str]
) -> tuple[str, tuple[tuple[str, bytes], ...], Rest]:
    """Returns nodes, UUIDs, and what becomes of the other GPUs: folded where what is assumed will mostly do."""
    names_nodes = all(gpu.node is not None for gpu in plan.gpus)
    with_uuids, with_rest = _any_of(formats, WITH_UUIDS), _any_of(formats, WITH_REST)
    if names_nodes and not with_uuids and not with_rest:
        return "", (), "keep"
    assumed = "" if names_nodes else assumed_nodes(plan)
    must_be_typed = NEEDS_UUIDS in formats or not (names_nodes or assumed)
    with st.expander("More settings", expanded=must_be_typed):
        nodes = "" if names_nodes else _asked_nodes(session, assumed)
        uuids = _asked_uuids(session) if with_uuids else ()
        rest: Rest = _asked_rest(session) if with_rest else "keep"
    if assumed and nodes == assumed:
        st.caption(
            f"The plan names no nodes: these are assumed, with 8 GPUs each: {literal(assumed)}. Type yours in *More "
            "settings*."
        )
    return nodes, uuids, rest


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


def _show(
    problem: Problem, plan: Plan, stack: Stack, made: Mapping[str, Export], refused: Sequence[InputError]
) -> None:
    """Draws the files, and what to know of them before they are applied."""
    if plan.violations:
        st.error("The plan misses SLOs, and so will this.")
    files = in_download(made)
    shown = st.selectbox("Look into", list(files), key="take_shown") if len(files) > 1 else next(iter(files))
    text = files[shown]
    st.code(text[:MOST_SHOWN] + ("\n…" if len(text) > MOST_SHOWN else ""), language=None, height=300, wrap_lines=True)
    if len(files) == 1:
        file_name = PurePath(shown).name
        label = f"Download {dated_name(problem.name, file_name)}"
        offer_file(label, text, problem.name, file_name, key="take_export", width="content")
    else:
        label = f"Download {len(files)} files (zip)"
        offer_file(label, partial(zipped, files), problem.name, f"{stack.slug}.zip", key="take_export", width="content")
    if any("{node}" in step for step in stack.how) and all(gpu.node is None for gpu in plan.gpus):
        st.warning("The plan names no nodes yet. Say above which there are, each with its GPUs, as `gpu-node-1:8`.")
    if steps := steps_for(stack.how, made, problem.name, plan):
        unpacked = " Unpack the archive, and run them there." if len(files) > 1 else ""
        st.markdown(f"**How to apply them.** Nothing of it was tried on a cluster or on hardware.{unpacked}")
        st.markdown("\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1)))
        if commands := commands_in(steps):
            st.caption("The commands alone, to copy; some are a choice, as the steps say.")
            st.code("\n".join(commands), language="sh", wrap_lines=True)
    if stack.not_said:
        st.markdown("**What these files cannot say**")
        st.markdown("\n".join(f"- {one}" for one in stack.not_said))
    if warnings := without_repeats((one for export in made.values() for one in export.warnings), refused):
        st.warning("To know of this plan's files:\n\n" + listed_here(warnings, tuple(made)))


def zipped(files: Mapping[str, str]) -> bytes:
    """Returns files in a zip archive; equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
