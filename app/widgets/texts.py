"""
Texts that others wrote, shown as they wrote them: names and notes, and what links, uploads and files state.

Streamlit takes every text for Markdown: labels, help, titles and messages too. What is not the page's own goes through
`literal`. Tables, code blocks and the options of select boxes show texts as they are; charts have charts/texts.py.
"""

import re
from collections.abc import Iterable

from sliceplan.solver.model.errors import printable

SIGNS = re.compile(r"([\\`*_\[\]<>#|~$&])")


LINKED = re.compile(r":(?=//|[\w+-]+[:/\[])|www(?=\.)", re.IGNORECASE)
"""What is a link, an emoji or an icon even where each of its signs is escaped; the names of people are addresses."""

JOINER = "\u2060"
"""Has no width, and joins what stands on both sides of it."""


def literal(text: str) -> str:
    """Returns a text for Markdown in which nothing is a command: no picture is loaded, no link made, no sign lost."""
    plain = LINKED.sub(rf"\g<0>{JOINER}", printable(" ".join(text.split())))
    return SIGNS.sub(r"\\\1", plain)


def sentence(text: str) -> str:
    """Returns words as a sentence: with a capital, and a full stop where none ends it."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def listed(texts: Iterable[str]) -> str:
    """Returns texts as a list in Markdown, each literal."""
    return "\n".join(f"- {literal(text)}" for text in texts)
