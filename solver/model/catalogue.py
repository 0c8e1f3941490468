"""
The catalogue that sliceplan ships: one file a GPU type in profiles/gpus, one a CPU type in profiles/cpus.

A type is parsed when it is first looked at: all of them take as long as the rest of a small command.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Generic

from .cpu import Cpu
from .hardware import Gpu
from .parsing import RecordT, closest, parse_record, parse_text, shown


class _Shipped(Mapping[str, RecordT], Generic[RecordT]):
    """The types of a folder by name, in the order of their file names; a file's first line is `name: ` and its name."""

    def __init__(self, record: type[RecordT], folder: str) -> None:
        self._record = record
        entries = sorted(files("sliceplan.profiles").joinpath(folder).iterdir(), key=lambda entry: entry.name)
        texts = {entry.name: entry.read_text("utf-8") for entry in entries if entry.name.endswith(".yaml")}
        self._text = {text.partition("\n")[0].removeprefix("name: "): (file, text) for file, text in texts.items()}
        self._parsed: dict[str, RecordT] = {}

    def __getitem__(self, name: str) -> RecordT:
        if name not in self._parsed:
            file, text = self._text[name]
            self._parsed[name] = parse_record(self._record, parse_text(text, file), file)
        return self._parsed[name]

    def __contains__(self, name: object) -> bool:
        return name in self._text

    def __iter__(self) -> Iterator[str]:
        return iter(self._text)

    def __len__(self) -> int:
        return len(self._text)


@cache
def load_catalogue() -> Mapping[str, Gpu]:
    """Returns the shipped GPU types by name, in the order of their file names."""
    return _Shipped(Gpu, "gpus")


@cache
def load_cpus() -> Mapping[str, Cpu]:
    """Returns the shipped CPU types by name, in the order of their file names; no GPU type has such a name."""
    return _Shipped(Cpu, "cpus")


def unknown_type(name: str, *, is_cpu: bool) -> str:
    """Returns what to say of a name that is no GPU type, or no CPU type: what it is instead, or what is like it."""
    field, known, others = ("cpu", load_cpus(), load_catalogue()) if is_cpu else ("gpu", load_catalogue(), load_cpus())
    if name in others:
        right, what = ("gpu", "a GPU") if is_cpu else ("cpu", "a CPU")
        by = "" if is_cpu else ", or sharing: cores"
        return f"is {shown(name)}, which is {what}; expected `{right}: {name}` in place of `{field}`{by}"
    return f"is {shown(name)}; not in the catalogue. {closest(name, known)}"
