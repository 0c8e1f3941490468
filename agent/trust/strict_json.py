"""
JSON from outside, read with limits: size before anything else, then depth, then numbers and repeated keys.

The parser of the standard library accepts NaN, integers of thousands of digits, repeated keys (the last one wins, while
another reader may take the first) and nesting that later exhausts the stack. None of that is needed in a plan.
"""

import json
import re
from itertools import islice
from typing import Any, NoReturn

from ...solver.model.errors import Finding, InputError
from ...solver.model.parsing import without_repeated_keys

MAX_BYTES = 16 * 2**20
"""Largest file that is read. A plan of 1,000 services on 4,000 partitions takes about 1 MB."""

MAX_DEPTH = 24
"""Deepest nesting that is read; a plan has 7 levels."""

MOST_VALUES = 1_000_000
"""Values of a file; a plan of MAX_BYTES has about 700,000, and built they take up to 40 times its size."""

MAX_INTEGER = 2**53 - 1
"""Largest integer that every JSON reader keeps exactly."""

# The closing quote is optional: a string without end is passed over at once, not tried from each of its quotes.
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")


def parse_json(data: bytes, source: str, most_values: int = MOST_VALUES) -> Any:
    """
    Parses JSON.

    Parameters
    ----------
    most_values
        Values that it may have, counted before any is built.

    Raises
    ------
    InputError
        If it is larger than MAX_BYTES, no UTF-8, no JSON, nested deeper than MAX_DEPTH, repeats a key, or holds a
        number beyond what JSON readers agree on, or too many values.
    """
    if len(data) > MAX_BYTES:
        raise refusal(source, "", f"is larger than {MAX_BYTES // 2**20} MiB, which no plan is")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise refusal(source, "", f"is not UTF-8 text (byte {error.start})") from error
    _refuse_shape(text, source, most_values)
    try:
        return json.loads(
            text, object_pairs_hook=without_repeated_keys, parse_int=_bounded_integer, parse_constant=_no_constant
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise refusal(source, where, f"is not valid JSON: {error.msg}") from error
    except ValueError as error:
        raise refusal(source, "", f"is not accepted: {error}") from error


def refusal(source: str, path: str, message: str) -> InputError:
    """Returns the error for one thing that is wrong."""
    return InputError([Finding(source, path, message)])


def _refuse_shape(text: str, source: str, most_values: int) -> None:
    """Refuses, before anything is built, deep nesting and too many values."""
    marks, depth = _STRING.sub("", text), 0
    # More brackets than that are too many values.
    for match in islice(_BRACKET.finditer(marks), most_values):
        depth += 1 if match[0] in "[{" else -1
        if depth > MAX_DEPTH:
            raise refusal(source, "", f"is nested deeper than {MAX_DEPTH} levels, which no plan is")
    values = 1 + marks.count("[") + marks.count("{") + marks.count(",")
    if values > most_values:
        raise refusal(source, "", f"has more than {most_values} values, which no file of its kind has")


def _bounded_integer(digits: str) -> int:
    # Compared by length first: turning a long text into a number takes quadratic time.
    if len(digits) > 17 or abs(int(digits)) > MAX_INTEGER:
        raise ValueError(f"an integer beyond {MAX_INTEGER}")
    return int(digits)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
