"""What is asked of a pasted table whose column names leave open which column is what, and what comes of the answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sliceplan.app.tables.labels import LABELS
from sliceplan.app.tables.pasted_header import LEAST_COLUMNS, NEEDED, UNITS, Choice, Header

OFFERED: Mapping[str, Mapping[str, str]] = {
    "rate_rps": {"rps": "second", "rpm": "minute", "rph": "hour"},
    "slo_ms": {"ms": "milliseconds", "s": "seconds", "us": "microseconds"},
}
"""By column: those of its units that are offered, and what they are called."""

__all__ = ["Asked", "Choice", "Header", "asked_of", "is_open"]

UNIT_OF = {"rate_rps": "Requests per", "slo_ms": "SLO in"}


@dataclass(frozen=True)
class Asked:
    """A column that is looked for."""

    name: str
    label: str
    cell: str
    """Of the first line, where it was found; empty: nowhere."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Those that may be chosen, and what they are called; none: it has no unit."""
    unit: str = ""
    """The one that was found."""
    unit_label: str = ""


def is_open(header: Header) -> bool:
    """Whether names leave it open which column is what: some are missing or guessed, or two are called alike."""
    are_names = len(header.cells) >= LEAST_COLUMNS and not any(cell[:1].isdecimal() for cell in header.cells)
    return are_names and bool(header.problems or header.missing or header.guessed)


def asked_of(header: Header) -> list[Asked]:
    """Returns the columns that services need, with where they were found."""
    return [
        Asked(
            name,
            LABELS["workloads"][name].text.partition(" (")[0],
            header.cell_of(name),
            OFFERED.get(name, {}),
            _offered(name, header.unit_of(name)),
            UNIT_OF.get(name, ""),
        )
        for name in NEEDED
    ]


def _offered(name: str, unit: str) -> str:
    """Returns the unit that is offered and is the same as this one."""
    return next((one for one in OFFERED.get(name, {}) if UNITS[name][one] == UNITS[name][unit]), "")
