"""The command that keeps few of many compiled versions of a model's layers."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..model.errors import Finding, InputError
from .layer_options import LayersArgument, LimitsOption, ModelsOption, chosen_models, limits_of
from .output import display, is_stdout, say, write_out

if TYPE_CHECKING:
    from ..cores.version_choice import LayerChoice


def choose_versions(
    path: LayersArgument,
    slo_ms: LimitsOption,
    output: Annotated[Path, typer.Option("-o", "--output", help="File of layer times to write (YAML, or JSON).")],
    models: ModelsOption = None,
) -> None:
    """Keep the fewest compiled versions of each layer that suffice at every level of interference."""
    from ..cores.version_choice import chosen
    from ..formats.layer_files import layer_times_text, read_layer_times

    known = chosen_models(read_layer_times(path), models, str(path))
    limits = limits_of(slo_ms, [model.model for model in known])
    if not any(layer.versions for model in known for layer in model.layers):
        message = "has one time of each layer; expected layers with `versions` to choose from"
        raise InputError([Finding(str(path), "", message)])
    found = [chosen(model, limits[model.model]) for model in known]
    write_out(layer_times_text([model for model, _ in found], is_json=output.suffix == ".json"), output)
    rows = [(model.model, [choice for choice in choices if choice is not None]) for model, choices in found]
    if not is_stdout(output):
        display(_table(rows))
    for model, choices in found:
        if one := sum(choice is None for choice in choices):
            say(f"{model.model}: {one} layers have one time only and stay as they are.")
        if unkept := sum(choice is not None and choice.fast == 0 for choice in choices):
            say(f"{model.model}: no version of {unkept} layers keeps its quota on any count of cores; all were taken.")
        if len(model.levels) == 1:
            say(f"{model.model}: measure these versions at levels of interference, then choose again.")


def _table(rows: "Sequence[tuple[str, list[LayerChoice]]]") -> object:
    """Returns by model how many of its layers keep how many versions."""
    from rich.table import Table

    from ..cores.version_choice import MOST_VERSIONS

    table = Table(box=None, pad_edge=False)
    table.add_column("layers that keep", no_wrap=True)
    for number in range(1, MOST_VERSIONS + 1):
        table.add_column(str(number), justify="right")
    table.add_column("on the front, mean", justify="right")
    for name, choices in rows:
        kept = Counter(len(choice.kept) for choice in choices)
        mean = f"{sum(choice.front for choice in choices) / len(choices):.1f}" if choices else "-"
        table.add_row(name, *(str(kept[number]) for number in range(1, MOST_VERSIONS + 1)), mean)
    return table
