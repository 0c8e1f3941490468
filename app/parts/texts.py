"""What people type (names, notes), shown as they typed it."""

import re

SIGNS = re.compile(r"([\\`*_{}\[\]()<>#|~$:&])")


def literal(text: str) -> str:
    """Returns a text for Markdown in which nothing is a command: no picture is loaded, no link made, no sign lost."""
    return SIGNS.sub(r"\\\1", " ".join(text.split()))
