"""Numbers and units as load testers write them: thousands with commas, units in brackets, NaN for nothing."""

import json
import math
import re
from typing import Any

from .sample import refused

MILLISECONDS = {
    "ms": 1.0,
    "milliseconds": 1.0,
    "us": 1e-3,
    "µs": 1e-3,
    "microseconds": 1e-3,
    "ns": 1e-6,
    "nanoseconds": 1e-6,
    "s": 1e3,
    "sec": 1e3,
    "seconds": 1e3,
}
"""Milliseconds of one unit."""

PER_SECOND = ("requests/sec", "requests/s", "req/s", "per sec", "infer/sec")

_WITH_UNIT = re.compile(r"(.*?)\s*\(([^()]*)\)")
_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d*)?")


def positive(value: Any, source: str, where: str) -> float:
    """Returns a finite number above 0, from a number or its text; raises InputError if it is none."""
    text = value.strip() if isinstance(value, str) else value
    if isinstance(text, str) and _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    try:
        number = math.nan if isinstance(text, bool) else float(text)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise refused(source, where, f"is {str(value)[:40]!r}; expected a number above 0")
    return number


def whole(value: Any, source: str, where: str) -> int:
    """Returns a whole number from 1 to 65536; raises InputError if it is none."""
    number = positive(value, source, where)
    if number != int(number) or number > 65536:
        raise refused(source, where, f"is {str(value)[:40]!r}; expected a whole number from 1 to 65536")
    return int(number)


def in_ms(value: Any, unit: Any, source: str, where: str) -> float:
    """Returns a time in milliseconds; raises InputError if the unit is not one of time."""
    factor = MILLISECONDS.get(unit) if isinstance(unit, str) else None
    if factor is None:
        raise refused(source, where, f"has the unit {str(unit)[:40]!r}; expected one of {', '.join(MILLISECONDS)}")
    return positive(value, source, where) * factor


def in_per_second(value: Any, unit: Any, source: str, where: str) -> float:
    """Returns a rate per second; raises InputError if the unit is not one of that."""
    if unit not in PER_SECOND:
        raise refused(source, where, f"has the unit {str(unit)[:40]!r}; expected one of {', '.join(PER_SECOND)}")
    return positive(value, source, where)


def name_and_unit(header: str) -> tuple[str, str | None]:
    """Returns `Request Latency` and `ms` of `Request Latency (ms)`; without a unit None."""
    match = _WITH_UNIT.fullmatch(header.strip())
    return (match[1], match[2].strip()) if match else (header.strip(), None)


def json_documents(text: str, source: str) -> list[Any]:
    """Returns the JSON documents that stand one after another in a text; raises InputError if one is not JSON."""
    decoder = json.JSONDecoder()
    documents = []
    position = 0
    try:
        while rest := text[position:].lstrip():
            position = len(text) - len(rest)
            document, position = decoder.raw_decode(text, position)
            documents.append(document)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise refused(source, where, f"is not valid JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise refused(source, "", "is not JSON of a load tester") from error
    if not documents:
        raise refused(source, "", "is empty; expected JSON")
    return documents
