"""
Names as people write them, made into those that a problem may have, as files, labels and units take no others.

The rule: accents go (é is e, ß is ss), a letter without a Latin form becomes its code point (検 is u691c), all else but
letters, digits, '.', '_' and '-' becomes '-'. A name that would be another's gets a number.
"""

import re
import unicodedata
from collections.abc import Iterable

import pandas as pd

MOST_LETTERS = 63

ACCEPTED = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")

WITHOUT_ACCENT = str.maketrans(
    {"ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D"}
)
"""Letters that Unicode does not take for others with an accent."""

MOST_TOLD = 3


def accepted_names(written: Iterable[str]) -> dict[str, str]:
    """Returns the name that a problem may have for each that is not one; the others keep theirs."""
    names = list(dict.fromkeys(written))
    taken = {name for name in names if _is_accepted(name)}
    found: dict[str, str] = {}
    for name in names:
        if _is_accepted(name):
            continue
        made = _in_latin(name)
        number, unique = 1, made
        while unique in taken:
            number += 1
            tail = f"-{number}"
            unique = made[: MOST_LETTERS - len(tail)].rstrip("._-") + tail
        taken.add(unique)
        found[name] = unique
    return found


def with_accepted_names(table: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, str]]:
    """Returns a table of services with names that a problem may have, and what is called otherwise; none stays none."""
    renamed = accepted_names(name for name in table["name"] if isinstance(name, str) and name.strip())
    if not renamed:
        return table, {}
    names = [renamed.get(name, name) if isinstance(name, str) else name for name in table["name"]]
    return table.assign(name=pd.Series(names, table.index, table["name"].dtype)), renamed


def told(renamed: dict[str, str]) -> str:
    """Returns what is called otherwise, as a note."""
    shown = ", ".join(f"{name!r} is called {made}" for name, made in list(renamed.items())[:MOST_TOLD])
    more = f", and {len(renamed) - MOST_TOLD:,} more likewise" if len(renamed) > MOST_TOLD else ""
    return f"names have letters, digits, '.', '_' and '-': {shown}{more}"


def _is_accepted(name: str) -> bool:
    return len(name) <= MOST_LETTERS and ACCEPTED.fullmatch(name) is not None


def _in_latin(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name.translate(WITHOUT_ACCENT))
    letters = []
    for letter in plain:
        if unicodedata.combining(letter):
            continue
        if letter.isascii():
            letters.append(letter)
        elif letter.isalnum():
            letters.append(f"-u{ord(letter):x}-")
        else:
            letters.append("-")
    made = re.sub(r"-+", "-", re.sub(r"[^A-Za-z0-9._-]+", "-", "".join(letters))).strip("._-")
    return made[:MOST_LETTERS].rstrip("._-") or "service"
