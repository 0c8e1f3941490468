"""The command that fits the interference proxy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..model.errors import Finding, InputError
from .output import display, is_stdout, say, write_json

if TYPE_CHECKING:
    from ..model.interference_proxy import InterferenceProxy


def fit_proxy(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="COUNTERS", help="CSV with a column `level`, the slowdown measured, and a column for each counter."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write (JSON); `-`: to stdout.")],
    levels: Annotated[
        list[float] | None,
        typer.Option("--level", min=1, max=1000, help="A level that versions were measured at. Repeatable."),
    ] = None,
) -> None:
    """Fit the level of interference to performance counters, with the error on rows that were left out."""
    import numpy as np

    from ..cores.proxy_fit import CounterTable
    from ..cores.proxy_fit import fit_proxy as fitted
    from ..formats.counter_tables import read_counter_table

    known = sorted(set(levels or ()))
    if known and known[0] != 1:
        raise InputError([Finding("--level", "", f"begins at {known[0]:g}; expected 1 among them, a layer alone")])
    names, counters, level = read_counter_table(path)
    table = CounterTable(str(path), names, np.array(counters).reshape(-1, len(names)), np.array(level))
    found = fitted(table, known)
    write_json(found.model_dump(mode="json"), output)
    if not is_stdout(output):
        display(_table(found))
    say(_errors(found))


def _table(found: "InterferenceProxy") -> object:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("counter", no_wrap=True)
    table.add_column("coefficient", justify="right")
    table.add_column("explains alone", justify="right")
    table.add_row("-", f"{found.intercept:.6g}", "-")
    for one in found.counters:
        table.add_row(one.name, f"{one.coefficient:.6g}", f"{one.alone:.1%}")
    return table


def _errors(found: "InterferenceProxy") -> str:
    text = f"{found.error.points} rows; the formula explains {found.explained:.1%} of the levels' variance"
    if found.held_out is None:
        return f"{text}. A row determines a coefficient by itself: its error on other rows is not known; add rows."
    held_out = found.held_out
    text += (
        f". On rows left out of the fit the level is off by {held_out.median:.1%} in the median, {held_out.p95:.1%} at "
        f"p95, {held_out.max:.1%} at most"
    )
    if found.nearest is not None:
        text += f"; nearest to the right one of {len(found.levels)} levels on {found.nearest:.1%}"
    return f"{text}."
