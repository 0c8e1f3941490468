"""The GPU catalogue that sliceplan ships: one file a GPU type, in profiles/gpus."""

from functools import cache
from importlib.resources import files

from .hardware import Gpu
from .parsing import parse_record, parse_text


@cache
def load_catalogue() -> dict[str, Gpu]:
    """Returns the shipped GPU types by name, in the order of their file names."""
    folder = files("sliceplan.profiles").joinpath("gpus")
    entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    gpus = [
        parse_record(Gpu, parse_text(entry.read_text("utf-8"), entry.name), entry.name)
        for entry in entries
        if entry.name.endswith(".yaml")
    ]
    return {gpu.name: gpu for gpu in gpus}
