"""Arguments and options that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

BY_DEFAULT = "default: exact, or exact-turns where services may take turns"
"""Of the planner (model/proving.py)."""

ProblemArgument = Annotated[Path, typer.Argument(help="Problem file (YAML or JSON).", show_default=False)]
PlanArgument = Annotated[Path, typer.Argument(help="Plan file (JSON).", show_default=False)]
ProfilesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--profiles", help="File or folder of profiles to add; repeatable, later ones win.", show_default=False
    ),
]
GapOption = Annotated[
    float | None,
    typer.Option(
        "--gap",
        min=0,
        max=1,
        help="End the search for the least cost as soon as the proven gap is at most this, 0.01 is 1 %; default: the "
        "problem's.",
    ),
]
PricesOption = Annotated[
    str | None,
    typer.Option(
        "--prices",
        help="Price book for the whole fleet: a name (`sliceplan price-books`) or a file; default: the problem's.",
        show_default=False,
    ),
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option("--time-limit", min=0.1, max=86_400, help="Seconds for the solver; default: the problem's."),
]
