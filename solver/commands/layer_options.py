"""What commands on layer times take: the file, its models, and their latency limits."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..model.errors import Finding, InputError
from ..model.parsing import closest

if TYPE_CHECKING:
    from ..model.layer_times import LayeredModel

LayersArgument = Annotated[
    Path,
    typer.Argument(
        metavar="LAYERS",
        help="Layer times: the folder of the VELTAIR artifact, or a file (YAML, JSON) of layer times.",
    ),
]
LimitsOption = Annotated[
    list[str], typer.Option("--slo-ms", help="Latency limit in ms; MODEL=MS for one of the models. Repeatable.")
]
ModelsOption = Annotated[
    list[str] | None, typer.Option("--model", help="A model of the file; default: all of them. Repeatable.")
]


def chosen_models(known: "Sequence[LayeredModel]", names: list[str] | None, source: str) -> "list[LayeredModel]":
    """Returns the models of these names, or all; InputError: one is not in the file."""
    of = {model.model: model for model in known}
    if wrong := [name for name in names or () if name not in of]:
        raise InputError(
            [Finding("--model", "", f"is {name!r}, not in {source}. {closest(name, of)}") for name in wrong]
        )
    return [of[name] for name in dict.fromkeys(names or of)]


def limits_of(texts: list[str], models: list[str]) -> dict[str, float]:
    """Returns the latency limit of each model, ms: the last that is said of it. InputError: none is, or no number."""
    for_all: float | None = None
    own: dict[str, float] = {}
    findings = []
    for text in texts:
        model, sign, number = text.rpartition("=")
        limit = _positive(number)
        if limit is None:
            findings.append(Finding("--slo-ms", "", f"is {text!r}; expected ms from 0.001 to 1,000,000, or MODEL=MS"))
        elif sign and model not in models:
            findings.append(Finding("--slo-ms", "", f"names {model!r}. {closest(model, models)}"))
        elif sign:
            own[model] = limit
        else:
            for_all = limit
    if not findings and for_all is None:
        findings = [
            Finding("--slo-ms", "", f"says nothing of {model}; add {model}=MS, or one for all")
            for model in models
            if model not in own
        ]
    if findings:
        raise InputError(findings)
    return {model: own.get(model, for_all or 0.0) for model in models}


def _positive(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0.001 <= number <= 1e6 else None
