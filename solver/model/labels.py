"""
Whose label a label is: what is asked of the labels of a problem, of a plan, and of two of them together.

People who read a label are to know which service it is. So no two labels look alike (visible.py), and none looks like
the name of another service.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from .errors import printable
from .visible import look

_EXPRESSION = re.compile(r"(?<=[{<#@])(?=[{(%#])|(?<=\$)(?=\S)")
"""Behind the sign that begins an expression with the next one: {{ {% {# <% #{ @{ $x ${ $(."""


class Labelled(Protocol):
    """A problem or a plan."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The label of each service that is not called by its name."""

    @property
    def service_names(self) -> Collection[str]:
        """The names of its services."""


def same_looks(labels: Iterable[str]) -> list[str]:
    """Returns the looks that more than one label has."""
    return [one for one, times in Counter(map(look, labels)).items() if times > 1]


def labels_of_others(labels: Mapping[str, str], names: Collection[str]) -> list[str]:
    """Returns the labels that look like another service's name; `labels`: by the name of the service."""
    return [label for name, label in labels.items() if (seen := look(label)) != name and seen in names]


def labels_of_both(old: Labelled, new: Labelled) -> dict[str, str]:
    """
    Returns the labels for what is said of two problems or plans together, the newer ones.

    A service that is there no more is called as it was. Where two would be called alike, the one that went has its
    name; a service whose label is the name of one that went has its own.
    """
    if not (old.labels or new.labels):
        return {}
    here = {*new.service_names, *map(look, new.labels.values())}
    gone = {name: label for name, label in old.labels.items() if not {name, look(label)} & here}
    left = {*old.service_names} - {*new.service_names}
    both = {**gone, **new.labels}
    taken = {*labels_of_others(both, left)}
    return {name: label for name, label in both.items() if label not in taken}


def apart(label: str) -> str:
    """Returns a label, one line, in which no template engine that a file is put through finds an expression."""
    return _EXPRESSION.sub(" ", printable(label))


def in_comment(labels: Mapping[str, str], workload: str) -> str:
    """
    Returns a name with its label, if it has one, for a comment of one line in any syntax whose comments end there.

    It ends in a quotation mark or in the name, so that nothing is a continuation of the line.
    """
    label = labels.get(workload)
    quoted = f'"{label}"'
    return workload if label is None else f"{workload} {apart(quoted)}"


def label_line(labels: Mapping[str, str], workload: str, sign: str = "#") -> list[str]:
    """Returns a line of comment with a service that has a label; none where it has none."""
    return [f"{sign} {in_comment(labels, workload)}"] if workload in labels else []
