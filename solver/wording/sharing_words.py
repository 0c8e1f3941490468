"""How a GPU or a CPU is divided, in the words that people use; files have names for it (`solver/model/sharing.py`)."""

import re
from collections.abc import Iterable, Mapping

from ..model.sharing import Sharing

SHARING_WORDS: Mapping[Sharing, str] = {"exclusive": "whole GPU", "mig": "MIG", "mps": "MPS", "cores": "CPU cores"}

NAMES: Mapping[str, Sharing] = {words.casefold(): way for way, words in SHARING_WORDS.items()}

WORDS = re.compile(rf"\b({'|'.join(re.escape(words) for words in SHARING_WORDS.values())})\b", re.IGNORECASE)


def sharing_in_words(ways: Iterable[Sharing]) -> str:
    """Returns ways of dividing as `MIG, whole GPU`, in their order."""
    return ", ".join(SHARING_WORDS[way] for way in ways)


def sharing_in_prose(ways: Iterable[Sharing]) -> str:
    """Returns ways of dividing as part of a sentence: `MIG, MPS and whole GPUs`, in their order."""
    *others, last = [f"{SHARING_WORDS[way]}s" if way == "exclusive" else SHARING_WORDS[way] for way in ways]
    return f"{', '.join(others)} and {last}" if others else last


def words_for_names(text: str) -> str:
    """Returns a list with commas in which what files call a way of dividing is in words; the rest stays."""
    parts = [part.strip() for part in text.split(",")]
    known = {str(way): words for way, words in SHARING_WORDS.items()}
    return ", ".join(known.get(part.casefold(), _as_spelled(part)) for part in parts)


def names_for_words(text: str) -> str:
    """Returns a text in which the words for ways of dividing are what files call them; the rest stays."""
    return WORDS.sub(lambda found: NAMES[found[0].casefold()], text)


def _as_spelled(part: str) -> str:
    way = NAMES.get(part.casefold())
    return part if way is None else SHARING_WORDS[way]
