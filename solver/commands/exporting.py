"""The commands that take a plan to its nodes and to other tools."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..api.exporting import by_service, export_formats, values_by_name
from ..formats.exports.target import Gpus, Options
from ..model.errors import Finding, InputError
from ..model.host_cores import HostCores
from ..model.parsing import closest
from ..model.plan import Plan
from ..model.problem import Problem
from ..model.words import boards_in_words, counted
from .inputs import known_profiles
from .options import PlanArgument, ProfilesOption
from .output import say, say_notes


def assign(
    plan: PlanArgument,
    nodes: Annotated[
        list[str], typer.Option("--nodes", metavar="NAME:COUNT[:GPU]", help="A node and its GPUs; repeatable.")
    ],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Plan file; default: stdout.")] = None,
) -> None:
    """Assign the GPUs of a plan to named nodes."""
    from ..formats.exports.assign import assign as assigned
    from ..formats.exports.assign import parse_supply
    from ..formats.plan_files import dump_plan, read_plan, write_plan

    answer = assigned(read_plan(plan), [parse_supply(text) for text in nodes])
    if output is None:
        sys.stdout.write(dump_plan(answer))
    else:
        write_plan(answer, output)
        named = {gpu.node for gpu in answer.gpus}
        say(f"{output}: {boards_in_words(answer.gpus)} on {counted(len(named), 'node')}.")


class RestOfNode(StrEnum):
    """What becomes of the GPUs of a node that the plan does not list."""

    KEEP = "keep"
    MIG_OFF = "mig-off"


FORMATS = "\n\n".join(f"{target.name}: {target.description}" for target in export_formats().values())


def export(
    plan: PlanArgument,
    target: Annotated[str, typer.Option("--format", metavar="NAME", help=FORMATS, show_default=False)],
    folder: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder to write into; made if missing. Default: one file to stdout."),
    ] = None,
    problem: Annotated[
        Path | None, typer.Option(help="triton: the problem that the plan answers; its SLOs are there.")
    ] = None,
    uuids: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NODE=]FILE",
            help="Output of `nvidia-smi -L` on the node; repeatable. mig-parted-checkpoint takes UUIDs from it; "
            "mig-parted, mig-manager and device-plugin learn which GPUs the plan does not list.",
        ),
    ] = None,
    rest: Annotated[
        RestOfNode,
        typer.Option(
            help="GPUs that the plan does not list: left as they are, or listed too, with MIG off (mig-parted, "
            "mig-parted-checkpoint, mig-manager; takes --uuids)."
        ),
    ] = RestOfNode.KEEP,
    image: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[WORKLOAD=]IMAGE",
            help="deployments, dra, docker-cores, kubernetes-cores: container image, of all or of a service by its "
            "name or label; repeatable.",
        ),
    ] = None,
    lscpu: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NODE=]FILE",
            help="Output of `lscpu -p` on the node, for services on cores (systemd-cores, docker-cores, "
            "kubernetes-cores); repeatable.",
        ),
    ] = None,
    memory: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[WORKLOAD=]SIZE", help="kubernetes-cores: memory of a pod, as 2Gi, likewise; repeatable."
        ),
    ] = None,
    profiles: ProfilesOption = None,
) -> None:
    """Write a plan in the form that other tools take, exactly; or say why they cannot express it."""
    from ..formats.plan_files import read_plan
    from ..formats.text_files import write_texts

    formats = export_formats()
    if target not in formats:
        raise InputError([Finding("--format", target, f"is no format of plans. {closest(target, formats)}")])
    answer = read_plan(plan)
    listed, driver_names = _listed_gpus(answer, uuids or [])
    answered = None if problem is None else _problem_of(answer, plan, problem, profiles)
    called = answer if answered is None else answer.called(answered.labels)
    options = Options(
        source=str(plan),
        problem=answered,
        uuids=listed,
        driver_names=driver_names,
        rest=rest.value,
        images=by_service(values_by_name(image or [], "--image"), called, "--image"),
        hosts=_hosts(answer, lscpu or []),
        memory=by_service(values_by_name(memory or [], "--memory"), called, "--memory"),
    )
    made = formats[target].export(called, options)
    if folder is not None:
        write_texts(folder, made.files)
        for name in made.files:
            say(str(folder / name))
    elif len(made.files) > 1:
        raise InputError(
            [Finding("--output", "", f"is missing; {target} writes {len(made.files)} files into a folder")]
        )
    else:
        sys.stdout.write(next(iter(made.files.values())))
    misses = ["The plan misses SLOs (status violating), and so will this."] if answer.violations else []
    say_notes([*misses, *made.warnings])


def _problem_of(answer: Plan, plan: Path, problem: Path, profiles: list[Path] | None) -> Problem:
    """Reads the problem and refuses it if the plan answers another one."""
    from ..formats.problem_files import read_problem
    from ..model.digest import made_with, reference

    parsed = read_problem(problem, known_profiles(profiles))
    if reference(parsed) != answer.problem and made_with(parsed, answer) is None:
        raise InputError([Finding("--problem", str(problem), f"is not the problem that {plan} answers")])
    return parsed


def _listed_gpus(answer: Plan, texts: list[str]) -> tuple[Gpus, Gpus]:
    """Reads UUIDs and names of each node's GPUs."""
    from ..formats.gpu_uuids import read_driver_names, read_uuids

    of_node = _files_by_node(answer, texts, "--uuids")
    return (
        {(node, index): uuid for node, file in of_node.items() for index, uuid in read_uuids(file).items()},
        {(node, index): name for node, file in of_node.items() for index, name in read_driver_names(file).items()},
    )


def _hosts(answer: Plan, texts: list[str]) -> dict[str, HostCores]:
    """Reads the cores of each node's host."""
    from ..model.host_cores import read_host_cores

    return {node: read_host_cores(file) for node, file in _files_by_node(answer, texts, "--lscpu").items()}


def _files_by_node(answer: Plan, texts: list[str], option: str) -> dict[str, Path]:
    """Returns the file of each node; without a node's name it is of the plan's only one."""
    nodes = sorted({gpu.node for gpu in answer.gpus if gpu.node is not None})
    files = values_by_name(texts, option)
    findings = [
        Finding(option, name, f"is no node of the plan. {closest(name, nodes)}")
        for name in files
        if name not in ("", *nodes)
    ]
    if "" in files and len(nodes) > 1:
        message = f"is of which node? The plan has {', '.join(nodes)}; write NODE={files['']}"
        findings.append(Finding(option, files[""], message))
    if findings:
        raise InputError(findings)
    return {name or next(iter(nodes), ""): Path(file) for name, file in files.items()}
