"""
Services as people name them, and the names that a problem has for files, labels and units.

What people write is what they see, in any script and with spaces. Where it is no name that files take, it is the
service's label, and the name is made of it: in Latin letters by anyascii (写真 is XieZhen), with '-' for all else but
letters, digits, '.', '_' and '-'. A name that would be another's gets a number. A service of a file keeps the name that
it has there, whatever people call it.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sliceplan.solver.model.base import LONGEST_NAME, NAME_PATTERN
from sliceplan.solver.model.visible import without_unseen

IN_FILES = "name_in_files"
"""Column of a table of services: the name in a file of a service that people call otherwise; empty: made of that."""

MOST_TOLD = 3


def named(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """
    Returns rows of services with `name` for files and `label` for people, instead of what people wrote and IN_FILES.

    Rows without a name stay without; those that are called the same have the same name and label, which the problem
    then finds fault with.
    """
    shown = [seen(row["name"]) if isinstance(row.get("name"), str) else None for row in rows]
    stated = _stated(rows, shown)
    # What a service with a name of its own is called is no name for another one either.
    taken = [one for text, name in zip(shown, stated, strict=True) if text and name for one in (text, name)]
    made = accepted_names((text for text, name in zip(shown, stated, strict=True) if text and name is None), taken)
    found = []
    for row, text, name in zip(rows, shown, stated, strict=True):
        rest = {key: value for key, value in row.items() if key not in ("name", IN_FILES)}
        if text is None:
            found.append(rest | {"name": row["name"]} if "name" in row else rest)
        elif text:
            name = name or made.get(text, text)
            found.append({"name": name, **rest, **({"label": text} if name != text else {})})
        else:
            found.append(rest)
    return found


def called_otherwise(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Returns what people call services that files call otherwise, and what those call them."""
    return {row["label"]: row["name"] for row in named(rows) if "label" in row}


def _stated(rows: Sequence[Mapping[str, Any]], shown: Sequence[str | None]) -> list[str | None]:
    """Returns the names that rows have from a file and may keep: no other row is called so, or had it before."""
    called = {text for text in shown if text}
    first: dict[str, int] = {}
    for i, (row, text) in enumerate(zip(rows, shown, strict=True)):
        name = row.get(IN_FILES)
        if isinstance(name, str) and text and _is_accepted(name) and (name == text or name not in called):
            first.setdefault(name, i)
    of_row = {i: name for name, i in first.items()}
    return [of_row.get(i) for i in range(len(rows))]


def seen(written: str) -> str:
    """Returns what people see of what they wrote: without signs that cannot be seen, one space where there is space."""
    text = " ".join(unicodedata.normalize("NFC", written).split())
    if text.isprintable():
        return text
    # What went may have stood between a letter and its accent.
    return " ".join(unicodedata.normalize("NFC", without_unseen(text)).split())


def accepted_names(written: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Returns the name that a problem may have for each that is not one; the others keep theirs. `taken`: by others."""
    names = list(dict.fromkeys(written))
    known = {*taken, *(name for name in names if _is_accepted(name))}
    found: dict[str, str] = {}
    for name in names:
        if _is_accepted(name):
            continue
        made = _in_latin(name)
        number, unique = 1, made
        while unique in known:
            number += 1
            tail = f"-{number}"
            unique = made[: LONGEST_NAME - len(tail)].rstrip("._-") + tail
        known.add(unique)
        found[name] = unique
    return found


def told(renamed: Mapping[str, str]) -> str:
    """Returns what files call otherwise than people do, as a note."""
    shown = ", ".join(f"{label!r} {name}" for label, name in list(renamed.items())[:MOST_TOLD])
    more = f", and {len(renamed) - MOST_TOLD:,} more likewise" if len(renamed) > MOST_TOLD else ""
    return f"files and units call {shown}{more}"


def _is_accepted(name: str) -> bool:
    return len(name) <= LONGEST_NAME and re.fullmatch(NAME_PATTERN, name) is not None


def _in_latin(name: str) -> str:
    from anyascii import anyascii  # only where a name needs it

    made = re.sub(r"-+", "-", re.sub(r"[^A-Za-z0-9._-]+", "-", anyascii(name))).strip("._-")
    return made[:LONGEST_NAME].rstrip("._-") or "service"
