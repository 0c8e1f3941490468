"""The command for models on the cores of one CPU: what each scheduler carries."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..model.words import counted
from .layer_options import LayersArgument, LimitsOption, ModelsOption, chosen_models, limits_of
from .output import display, is_stdout, say, spinner, write_json

if TYPE_CHECKING:
    from ..model.cores_report import CoresReport, ModelOnCores

PURPOSES = ("idle", "inefficient", "standing", "lost")
"""What cores do beside what queries need, as `CoresSpent` has it."""

MOST_QUERIES, MOST_SEEDS = 20_000, 20


def cores(
    path: LayersArgument,
    slo_ms: LimitsOption,
    models: ModelsOption = None,
    count: Annotated[int, typer.Option("--cores", min=1, max=4096, help="Cores of the CPU.")] = 64,
    names: Annotated[
        list[str] | None, typer.Option("--scheduler", help="A scheduler; default: all of them. Repeatable.")
    ] = None,
    grow_ms: Annotated[
        float, typer.Option(min=0, max=1000, help="Standstill of a query that is given more cores, ms.")
    ] = 0.22,
    full_level: Annotated[
        float,
        typer.Option(
            min=1,
            max=1000,
            help="Level of interference while others hold all cores, in between in proportion; 1: there is none.",
        ),
    ] = 1.0,
    quantile: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="Share of the queries that must be in time.")
    ] = 0.95,
    queries: Annotated[int, typer.Option(min=20, max=MOST_QUERIES, help="Queries of each seed.")] = 1000,
    seeds: Annotated[int, typer.Option(min=1, max=MOST_SEEDS, help="Draws of arrivals, numbered from 1.")] = 1,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the report as JSON; `-`: to stdout instead of the table.")
    ] = None,
) -> None:
    """Show the queries/s that each scheduler carries on a CPU's cores, and what no runtime exceeds."""
    from ..cores.comparing import Trial, compared
    from ..cores.runtimes.timetable import Machine
    from ..cores.schedulers.registry import scheduler_named, schedulers
    from ..formats.layer_files import read_layer_times

    usual = schedulers(under_interference=full_level > 1)
    chosen = [scheduler_named(name) for name in dict.fromkeys(names or usual)]
    known = chosen_models(read_layer_times(path), models, str(path))
    limits = limits_of(slo_ms, [model.model for model in known])
    with spinner("simulating"):
        trial = Trial(Machine(count, grow_ms, full_level), quantile, queries, seeds)
        found = compared(known, limits, chosen, trial)
    if json_file is not None:
        write_json(found.model_dump(mode="json"), json_file)
    if not is_stdout(json_file):
        display(_table(found))
    for line in _lines(found):
        say(line)


def _table(found: "CoresReport") -> object:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("scheduler", no_wrap=True)
    for title in ("queries/s", "of the bound", *PURPOSES):
        table.add_column(title, justify="right")
    for one in found.schedulers:
        share = "-" if one.of_bound is None else f"{one.of_bound:.0%}"
        spent = [] if one.spent is None else [f"{getattr(one.spent, name):,.0f}" for name in PURPOSES]
        table.add_row(one.scheduler, f"{one.rps:,.1f}", share, *spent)
    table.add_row("any runtime, at most", f"{found.bound_rps:,.1f}", "100%" if found.bound_rps else "-")
    return table


def _by_level(one: "ModelOnCores") -> str:
    """Returns the least core-times of a model by level, and over all of them, in words."""

    def words(core_ms: float | None) -> str:
        return "not in time, or not worked out" if core_ms is None else f"{core_ms:,.1f}"

    by_level = ", ".join(f"{words(at.least_core_ms)} at level {at.level:g}" for at in one.at_levels)
    return (
        f"least core-ms {by_level}; {words(one.sure_core_ms)} if each layer meets its slowest level; "
        f"{words(one.expected_core_ms)} to be expected where each level is as likely"
    )


def _lines(found: "CoresReport") -> list[str]:
    lines = []
    for one in found.models:
        least = f"; proven: none takes less than {one.least_core_ms:,.1f}" if one.least_core_ms is not None else ""
        lines.append(
            f"{one.model} within {one.slo_ms:g} ms: {one.average_cores} cores as a whole, "
            f"{one.average_core_ms:,.1f} core-ms a query{least} with one count of cores a layer."
            if least
            else f"{one.model} within {one.slo_ms:g} ms: {one.average_cores} cores as a whole, "
            f"{one.average_core_ms:,.1f} core-ms a query."
        )
        if one.at_levels:
            lines.append(f"{one.model} under interference, each layer in its fastest version: {_by_level(one)}.")
        if one.rises:
            lines.append(
                f"{one.model}: {one.rises} of {one.steps} steps to more cores were measured to be slower; there a "
                "layer is taken to leave cores idle."
            )
    interference = (
        f"a query meets level 1 to {found.full_level:g} of interference, in proportion to the cores that others hold, "
        "which is an assumption."
        if found.full_level > 1
        else "layer times are those without interference."
    )
    seeds = counted(len(found.bound_rps_by_seed), "seed")
    lines.append(f"{found.quantile:.1%} of {found.queries:,} Poisson queries in time, {seeds}; {interference}")
    lines.append(
        "Idle, inefficient, standing, lost: core-time beside what queries in time need at least, in queries/s that it "
        "would carry."
    )
    lines.append(
        "The bound is proven at the rates that its bisection tried; that no greater rate is carried either is assumed."
    )
    return lines
