"""
Sentences that name services: the words apart from the names, so that labels can take the names' places.

A name may be a word of the language (`rate`, `plan`, `no`), and then nobody can tell in a finished sentence where it
stands for the service. So a sentence is kept as it was built, with SERVICES where the names stand, and they beside it
in a field that says that it holds names (`OfServices`). What a file holds is a finished sentence: there names stand
only where wording/shown_names.py looks for them.
"""

from collections.abc import Sequence

SERVICES = "{services}"
"""Stands in a sentence for the names; no name has braces."""


def naming(sentence: str, names: Sequence[str]) -> str:
    """Returns a sentence with its names, all of them."""
    return sentence.replace(SERVICES, ", ".join(names))
