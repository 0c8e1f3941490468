"""What the warnings of a plan are about, counted: a few words in the place of dozens of lines."""

from collections import Counter
from collections.abc import Iterable

from sliceplan.solver.metrics.caveats import CaveatKind
from sliceplan.solver.model.words import counted

WORDS: dict[CaveatKind | None, tuple[str, str]] = {
    CaveatKind.ESTIMATED: ("estimate", " from another GPU type"),
    CaveatKind.UNDISTURBED: ("model", " with unknown neighbours"),
    CaveatKind.EXTRAPOLATED: ("figure", " beyond what was measured"),
    CaveatKind.PLANNED_WITHOUT: ("kind", " of sharing without profiles"),
    None: ("other note", ""),
}
"""By what a warning is about, the gravest first (None: none of the others): what is counted, and what follows it."""


def warnings_in_words(kinds: Iterable[CaveatKind | None]) -> str:
    """Returns how many warnings of each kind there are, as `2 estimates from another GPU type, 1 other note`."""
    found = Counter(kinds)
    return ", ".join(counted(found[kind], noun) + rest for kind, (noun, rest) in WORDS.items() if found[kind])
