"""
Texts that people see as they were written: which signs a label may have.

A sign that cannot be seen would make two labels look like one, or turn what stands beside it around, so a label has
none (Unicode's "other" and "separator" characters but the space, which is what `str.isprintable` leaves out). Two such
signs are letters of their scripts all the same: the zero width non-joiner (U+200C) and joiner (U+200D) say whether
what stands beside them is written together. Persian, Indic scripts and emoji cannot be written without (می‌خواهم, क्‍ष,
👨‍👩‍👧; Unicode Standard, sec. 23.2). The rule: one stands between two signs that are seen, the space not counted, and
never at an end or beside another.

Between Latin letters a joiner changes nothing that is seen. In which scripts it does depends on fonts, and a list of
them would be wrong tomorrow; so texts that differ in joiners alone are taken to look alike everywhere (`look`). That
refuses two services called میخواهم and می‌خواهم, one of which is spelled wrongly, and no third way to say it is lost:
the other may be called anything else.
"""

import re

JOINERS = "\u200c\u200d"


def unseen(text: str) -> list[int]:
    """Returns where a text has signs that cannot be seen, joiners in their place left out."""
    if text.isprintable():
        return []
    return [i for i, sign in enumerate(text) if not sign.isprintable() and not _joins(text, i)]


def without_unseen(text: str) -> str:
    """Returns a text as people see it: one joiner where it has its place, and no other sign that cannot be seen."""
    if text.isprintable():
        return text
    # All others go first, and of several joiners all but one: then each has the neighbours that are seen.
    joined = "".join(sign for sign in text if sign.isprintable() or sign in JOINERS)
    kept = re.sub(f"([{JOINERS}])[{JOINERS}]+", r"\1", joined)
    return "".join(sign for i, sign in enumerate(kept) if sign.isprintable() or _joins(kept, i))


def look(text: str) -> str:
    """Returns what of a text surely can be seen; texts of the same look are not told apart."""
    return text if text.isprintable() else "".join(sign for sign in text if sign not in JOINERS)


def _joins(text: str, at: int) -> bool:
    """Tells whether a sign is a joiner between two signs that are seen."""
    return text[at] in JOINERS and 0 < at < len(text) - 1 and _is_seen(text[at - 1]) and _is_seen(text[at + 1])


def _is_seen(sign: str) -> bool:
    return sign.isprintable() and not sign.isspace()
