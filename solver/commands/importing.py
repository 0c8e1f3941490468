"""The commands that make profile files."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..model.errors import Finding, InputError
from .inputs import known_profiles
from .options import ProfilesOption
from .output import display, say, spinner

if TYPE_CHECKING:
    from ..model.profile import Profile


class ProfileFormat(StrEnum):
    """What profiles can be imported from."""

    PARVAGPU = "parvagpu"
    IGNITER = "igniter"
    GPULETS = "gpulets"
    GPULET_TABLES = "gpulet-tables"
    GLET = "glet"
    VELTAIR = "veltair"
    CORES = "cores"


def import_profile(
    source_format: Annotated[
        ProfileFormat,
        typer.Argument(metavar="FORMAT", help="parvagpu, igniter, gpulets, gpulet-tables, glet, veltair, or cores"),
    ],
    path: Annotated[
        Path,
        typer.Argument(
            help="What to import: for parvagpu, gpulet-tables, glet and veltair the artifact's folder, for cores a CSV "
            "table of your own, else a file of JSON lines."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Profile file to write (YAML, or JSON).")],
    fit: Annotated[
        bool, typer.Option("--fit", help="parvagpu: write curves fitted to the points instead of the points.")
    ] = False,
    gpu: Annotated[str | None, typer.Option("--gpu", metavar="GPU", help="glet: the GPU type of the files.")] = None,
) -> None:
    """Turn the measurements of papers' artifacts, or a table of cores of CPUs, into a profile file."""
    from ..formats.profile_files import write_profiles

    if source_format is ProfileFormat.PARVAGPU:
        imported = _import_parvagpu(path, fit)
    elif fit:
        message = f"is for parvagpu; {source_format} is fitted where there is something to fit"
        raise InputError([Finding("--fit", "", message)])
    elif (source_format is ProfileFormat.GLET) != (gpu is not None):
        message = "is missing; the files say no GPU type" if gpu is None else f"is for glet; {source_format} says it"
        raise InputError([Finding("--gpu", "", message)])
    elif gpu is not None:
        imported = _import_glet(path, gpu)
    else:
        imported = _READ[source_format](path)
    write_profiles(imported, output)
    kinds = ", ".join(dict.fromkeys(profile.quality for profile in imported))
    say(f"{output}: {len(imported)} profiles, {kinds}.")


def _import_parvagpu(path: Path, fit: bool) -> "list[Profile]":
    from ..formats.parvagpu import read_parvagpu
    from ..performance.fitting import fit_profile

    measured = read_parvagpu(path)
    if not fit:
        return measured
    with spinner(f"fitting {len(measured)} models"):
        made: list[Profile] = []
        findings: list[Finding] = []
        for profile in measured:
            try:
                made.append(fit_profile(profile))
            except ValueError as error:
                findings.append(Finding(str(path), profile.model, str(error)))
    if findings:
        raise InputError(findings)
    return made


def _import_igniter(path: Path) -> "list[Profile]":
    """Fits iGniter's coefficients and prints the residual of every point."""
    from ..formats.igniter import igniter_profiles
    from .terminal import residual_table

    profiles, residuals = igniter_profiles(path)
    rows = [(name, residual) for name, of_name in residuals.items() for residual in of_name]
    display(residual_table(rows), stderr=True)
    return profiles


def _import_gpulets(path: Path) -> "list[Profile]":
    """Says which points were left out, and how well the linear model fits the pairs."""
    from ..formats.gpulets import read_gpulets

    profiles = read_gpulets(path)
    for profile in profiles:
        for odd in profile.odd_points:
            say(f"  {profile.model} {odd}")
    model = profiles[0].neighbours
    if model is not None and model.error is not None:
        held_out = f"; {model.held_out.p95:.1%} on pairs left out of the fit" if model.held_out else ""
        say(f"  neighbours: {model.pairs} pairs, error of the latency p95 {model.error.p95:.1%}{held_out}")
    return profiles


def estimate_profile(
    gpu: Annotated[str, typer.Argument(metavar="GPU", help="GPU type to estimate the profiles for.")],
    measured_on: Annotated[str, typer.Option("--from", metavar="GPU", help="GPU type that they were measured on.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Profile file to write (YAML, or JSON).")],
    profiles: ProfilesOption = None,
    margin: Annotated[float, typer.Option(min=0, max=10, help="Part to add to every time, as 0.25.")] = 0.0,
) -> None:
    """Carry profiles to another GPU type, MIG sizes included, by roofline ratios; marked as estimated."""
    from ..formats.profile_files import write_profiles
    from ..model.catalogue import load_catalogue
    from ..model.parsing import closest
    from ..model.profile import merged
    from ..performance.estimating import estimated

    types = load_catalogue()
    findings = [
        Finding(where, name, f"is not in the catalogue. {closest(name, types)}")
        for where, name in (("GPU", gpu), ("--from", measured_on))
        if name not in types
    ]
    if findings:
        raise InputError(findings)
    known = [
        profile
        for profile in merged(known_profiles(profiles)).values()
        if profile.gpu == measured_on and profile.quality != "estimated"
    ]
    if not known:
        raise InputError([Finding("--from", measured_on, "has no measured profile")])
    made: list[Profile] = []
    failed: list[Finding] = []
    for profile in known:
        try:
            made.append(estimated(profile, types[measured_on], types[gpu], margin))
        except InputError as error:
            failed += error.findings
    if not made:
        raise InputError(failed)
    write_profiles(made, output)
    added = f", {margin:.0%} added to the times" if margin else ""
    say(f"{output}: {len(made)} profiles, estimated from {measured_on}{added}; nothing was measured on {gpu}.")
    for one in failed:
        say(f"left out: {one}")


def _import_gpulet_tables(path: Path) -> "list[Profile]":
    from ..formats.gpulet_tables import read_gpulet_tables

    return read_gpulet_tables(path)


def _import_glet(path: Path, gpu: str) -> "list[Profile]":
    """Says of which points no use is known."""
    from ..formats.glet import read_glet
    from ..model.catalogue import load_catalogue
    from ..model.parsing import closest

    if gpu not in (types := load_catalogue()):
        raise InputError([Finding("--gpu", gpu, f"is not in the catalogue. {closest(gpu, types)}")])
    profiles = read_glet(path, gpu)
    for profile in profiles:
        for odd in profile.odd_points:
            say(f"  {profile.model} {odd}")
    return profiles


def _import_cores(path: Path) -> "list[Profile]":
    from ..formats.core_tables import read_core_table

    return read_core_table(path)


def _import_veltair(path: Path) -> "list[Profile]":
    from ..formats.veltair_profiles import read_whole_models

    return read_whole_models(path)


_READ = {
    ProfileFormat.IGNITER: _import_igniter,
    ProfileFormat.GPULETS: _import_gpulets,
    ProfileFormat.GPULET_TABLES: _import_gpulet_tables,
    ProfileFormat.VELTAIR: _import_veltair,
    ProfileFormat.CORES: _import_cores,
}
