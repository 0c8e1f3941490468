"""The commands that read what a node is now: as a plan to start from, and to check the catalogue."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..model.errors import Finding, InputError
from ..model.words import boards_in_words, counted
from .output import display, say, say_notes


class StateFormat(StrEnum):
    """What the state of a node can be read from."""

    MIG_PARTED_CHECKPOINT = "mig-parted-checkpoint"
    NVIDIA_SMI_LGI = "nvidia-smi-lgi"
    NODE_JSON = "node-json"


FORMATS = """mig-parted-checkpoint: of `nvidia-mig-parted checkpoint`

nvidia-smi-lgi: the output of `nvidia-smi mig -lgi`

node-json: the output of `kubectl get node NAME -o json`"""


def import_state(
    source_format: Annotated[StateFormat, typer.Argument(metavar="FORMAT", help=FORMATS)],
    path: Annotated[Path, typer.Argument(help="The file to read.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Plan file; default: stdout.")] = None,
    gpu: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[INDEX=]TYPE",
            help="GPU type (`sliceplan gpus`) of all GPUs, or of one; repeatable. node-json: default, the label.",
        ),
    ] = None,
    node: Annotated[str | None, typer.Option(help="Name of the node; node-json has it.")] = None,
    uuids: Annotated[
        Path | None, typer.Option(help="mig-parted-checkpoint: output of `nvidia-smi -L` on the node.")
    ] = None,
    services: Annotated[
        Path | None, typer.Option(help="Plan whose services run in the partitions that are as it has them.")
    ] = None,
    idle: Annotated[bool, typer.Option("--idle", help="Nothing runs in the partitions.")] = False,
    append: Annotated[bool, typer.Option("--append", help="Add the node to those in the plan file.")] = False,
) -> None:
    """Turn the state of a node into a plan: the OLD of a transition, --current of the agent."""
    from ..formats.gpu_uuids import read_uuids
    from ..formats.live_state.live_gpus import joined, running_plan
    from ..formats.live_state.mig_parted_checkpoint import read_checkpoint
    from ..formats.live_state.node_json import read_node
    from ..formats.live_state.nvidia_smi import read_instances
    from ..formats.plan_files import dump_plan, read_plan, write_plan
    from ..model.parsing import read_text

    if append and output is None:
        raise InputError([Finding("--append", "", "is given without --output; name the plan file to add the node to")])
    _ask_for_what_is_missing(source_format, gpu, node, services, idle)
    types, source = _gpu_types(gpu or []), str(path)
    running = None if services is None else read_plan(services)
    text = read_text(path)
    name = node or ""
    if source_format is StateFormat.NODE_JSON:
        named, state = read_node(text, source, types)
        name = node or named
    elif source_format is StateFormat.MIG_PARTED_CHECKPOINT:
        state = read_checkpoint(text, source, types, {} if uuids is None else read_uuids(uuids))
    else:
        state = read_instances(text, source, types)
    plan, notes = running_plan(state, name, source, text, running)
    if append and output is not None and output.exists():
        plan = joined(read_plan(output), plan, str(output))
    if output is None:
        sys.stdout.write(dump_plan(plan))
    else:
        write_plan(plan, output)
        nodes = ", ".join(dict.fromkeys(gpu.node or "" for gpu in plan.gpus))
        partitions = sum(len(gpu.partitions) for gpu in plan.gpus)
        say(f"{output}: {boards_in_words(plan.gpus)}, {counted(partitions, 'partition')} of {nodes}.")
    say_notes(notes)


def check_catalogue(
    paths: Annotated[
        list[Path], typer.Argument(help="Output of `nvidia-smi mig -lgip` and of `-lgipp`, in one file or two.")
    ],
    gpu: Annotated[str, typer.Option(metavar="TYPE", help="GPU type (`sliceplan gpus`).")],
) -> None:
    """Compare the MIG profiles that a driver lists with the catalogue's; 3: it could be another type as well."""
    from ..formats.live_state.catalogue_check import check_catalogue as checked
    from ..formats.live_state.driver_profiles import read_driver_profiles
    from ..formats.live_state.live_gpus import gpu_type
    from ..model.parsing import read_text

    facts = gpu_type(0, {None: gpu}, str(paths[0]))
    found = checked(read_driver_profiles((str(path), read_text(path)) for path in paths), facts)
    for difference in found.differences:
        display(difference)
    if found.differences:
        count = counted(len(found.differences), "difference")
        say(f"{gpu}: {count}; a plan for such a GPU may not be applicable.")
        raise typer.Exit(1)
    if found.alike:
        more = "what the catalogue knows is the same" if found.has_names else "give `nvidia-smi mig -lgip` too"
        others = ", ".join(found.alike[:5]) + (f" and {len(found.alike) - 5} more" if len(found.alike) > 5 else "")
        say(f"{gpu}: cannot tell. Nothing contradicts it, and nothing contradicts {others}: {more}.")
        raise typer.Exit(3)
    say(f"{gpu}: the driver lists what the catalogue has of it, and of no other type.")


def _ask_for_what_is_missing(
    source_format: StateFormat, gpu: list[str] | None, node: str | None, services: Path | None, idle: bool
) -> None:
    """Raises InputError with everything that no source tells and no option does."""
    from pydantic import TypeAdapter, ValidationError

    from ..model.base import Name

    findings = []
    if not gpu and source_format is not StateFormat.NODE_JSON:
        findings.append(Finding("--gpu", "", "is missing: the file does not tell GPU types; give TYPE or INDEX=TYPE"))
    if node is None and source_format is not StateFormat.NODE_JSON:
        findings.append(Finding("--node", "", "is missing: the file does not tell the name of the node"))
    if node is not None:
        try:
            TypeAdapter(Name).validate_python(node)
        except ValidationError:
            expected = "at most 63 letters, digits, '.', '_' and '-', a letter or digit at both ends"
            findings.append(Finding("--node", node, f"is no name of a node; expected {expected}"))
    if (services is not None) == idle:
        message = "the file does not tell what runs in the partitions; give --services PLAN, or --idle if nothing does"
        both = "are given both; a plan's services run, or nothing does"
        findings.append(Finding("--services", "--idle", both) if idle else Finding("--services", "", message))
    if findings:
        raise InputError(findings)


def _gpu_types(texts: list[str]) -> dict[int | None, str]:
    """Returns what `INDEX=TYPE` says by index, and TYPE by None."""
    found: dict[int | None, str] = {}
    findings = []
    for text in texts:
        index, equals, name = text.rpartition("=")
        if equals and not (index.isascii() and index.isdigit() and len(index) < 4):
            findings.append(Finding("--gpu", text, "expected TYPE or INDEX=TYPE, as A100-80GB or 0=A100-80GB"))
            continue
        key = int(index) if equals else None
        if key in found:
            findings.append(Finding("--gpu", text, f"is given twice for {'all GPUs' if key is None else f'GPU {key}'}"))
        found[key] = name
    if findings:
        raise InputError(findings)
    return found
