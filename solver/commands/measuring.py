"""The command that makes profiles of what load testers wrote."""

from pathlib import Path
from typing import Annotated

import typer

from ..formats.measurements.registry import TOOLS
from ..formats.measurements.sample import STATISTICS, SourceText
from ..model.errors import Finding, InputError
from ..model.parsing import closest, read_text
from .output import say, say_notes

FORMATS = "\n\n".join(f"{tool.name}: {tool.description}" for tool in TOOLS.values())


def import_measurements(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help=FORMATS)],
    paths: Annotated[
        list[Path], typer.Argument(help="Its files, measured on one slice of one GPU type, or on some cores of a CPU.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Profile file to write (YAML, or JSON).")],
    gpu: Annotated[str | None, typer.Option(metavar="TYPE", help="GPU type (`sliceplan gpus`).")] = None,
    mig_profile: Annotated[str | None, typer.Option(help="MIG profile that it ran on, as 2g.20gb.")] = None,
    sm_percent: Annotated[
        float | None, typer.Option(min=0.01, max=100, help="Or the share of a whole GPU; 100: all of it.")
    ] = None,
    cpu: Annotated[
        str | None, typer.Option(metavar="TYPE", help="Or the CPU type (`sliceplan cpus`), with --cores.")
    ] = None,
    cores: Annotated[int | None, typer.Option(min=1, help="Physical cores of the CPU that it ran on.")] = None,
    model: Annotated[str | None, typer.Option(help="Model; default: what the file says.")] = None,
    batch: Annotated[
        int | None, typer.Option(min=1, max=65536, help="Batch size that ran; default: what the file says.")
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, max=48, help="Instances of the model; default: what the file says.")
    ] = None,
    latency: Annotated[str, typer.Option(metavar="NAME", help=f"One of {', '.join(STATISTICS)}.")] = "p99",
    append: Annotated[bool, typer.Option("--append", help="Add to the profiles in the file.")] = False,
) -> None:
    """Turn the results of load testers into profiles; what they do not say is asked for."""
    from ..formats.measurements.facts import Facts
    from ..formats.measurements.profiles import measured_profiles, with_more_points
    from ..formats.profile_files import read_profiles, write_profiles

    if tool not in TOOLS:
        raise InputError([Finding("TOOL", tool, f"is no load tester known here. {closest(tool, TOOLS)}")])
    if latency not in STATISTICS:
        raise InputError([Finding("--latency", latency, f"expected one of {', '.join(STATISTICS)}")])
    samples = TOOLS[tool].read([SourceText(str(path), read_text(path)) for path in paths])
    facts = Facts(model, gpu, mig_profile, sm_percent, batch, processes, latency, cpu, cores)
    made, notes = measured_profiles(samples, facts, tool)
    points = sum(len(profile.points) for profile in made)
    if append and output.exists():
        made = with_more_points(read_profiles(output), made, str(output))
    write_profiles(made, output)
    say(f"{output}: {points} operating points of {len({profile.model for profile in made})} model(s), measured.")
    say_notes(notes)
