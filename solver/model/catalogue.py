"""The catalogue that sliceplan ships: one file a GPU type in profiles/gpus, one a CPU type in profiles/cpus."""

from functools import cache
from importlib.resources import files

from .cpu import Cpu
from .hardware import Gpu
from .parsing import RecordT, closest, parse_record, parse_text, shown


@cache
def load_catalogue() -> dict[str, Gpu]:
    """Returns the shipped GPU types by name, in the order of their file names."""
    return {gpu.name: gpu for gpu in _shipped(Gpu, "gpus")}


@cache
def load_cpus() -> dict[str, Cpu]:
    """Returns the shipped CPU types by name, in the order of their file names; no GPU type has such a name."""
    return {cpu.name: cpu for cpu in _shipped(Cpu, "cpus")}


def _shipped(record: type[RecordT], folder: str) -> list[RecordT]:
    entries = sorted(files("sliceplan.profiles").joinpath(folder).iterdir(), key=lambda entry: entry.name)
    return [
        parse_record(record, parse_text(entry.read_text("utf-8"), entry.name), entry.name)
        for entry in entries
        if entry.name.endswith(".yaml")
    ]


def unknown_type(name: str, *, is_cpu: bool) -> str:
    """Returns what to say of a name that is no GPU type, or no CPU type: what it is instead, or what is like it."""
    field, known, others = ("cpu", load_cpus(), load_catalogue()) if is_cpu else ("gpu", load_catalogue(), load_cpus())
    if name in others:
        right, what = ("gpu", "a GPU") if is_cpu else ("cpu", "a CPU")
        by = "" if is_cpu else ", or sharing: cores"
        return f"is {shown(name)}, which is {what}; expected `{right}: {name}` in place of `{field}`{by}"
    return f"is {shown(name)}; not in the catalogue. {closest(name, known)}"
