"""Numbers as people write them in spreadsheets: decimal commas, thousands separators, units behind them."""

import re
from collections.abc import Iterable, Mapping

SPACES = re.compile(r"[\s\u00a0\u202f\u2009'\u2019_]")
"""What stands between groups of three digits where neither a comma nor a point does."""

NUMBER = re.compile(r"([^\d.,+-]*)([+-]?[\d.,]+(?:[eE][+-]?\d+)?)(.*)", re.DOTALL)
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}([.,]\d{3})+")
"""Thousands in groups; no number in groups begins with a zero."""


class UnreadableNumberError(ValueError):
    """A cell that is no number, or could be two; its text says what would be right."""


def decimal_mark(cells: Iterable[str]) -> str | None:
    """Returns the mark before decimals, `,` or `.`, that some number of a table leaves no doubt about; None: none."""
    for cell in cells:
        number = NUMBER.fullmatch(SPACES.sub("", cell))
        digits = number[2] if number else ""
        commas, points = digits.count(","), digits.count(".")
        if commas and points:
            return "," if digits.rfind(",") > digits.rfind(".") else "."
        if commas + points > 1:
            return "." if commas else ","
        if commas + points == 1 and not GROUPED.fullmatch(digits):
            return "," if commas else "."
    return None


def number_of(cell: str, mark: str | None, units: Mapping[str, float]) -> float:
    """
    Reads a number.

    Parameters
    ----------
    mark
        Mark before decimals in this table; None: unknown, and a single comma before three digits is refused.
    units
        Units that may stand behind it, small letters -> how many of the column's own one of them is.

    Raises
    ------
    UnreadableNumberError
        If it is no number, could be two, or has another unit than the column's.
    """
    value, unit = _number(cell, mark, units)
    if units.get(unit, 1) != 1:
        own = next(name for name, factor in units.items() if factor == 1)
        raise UnreadableNumberError(f"is {_shown(cell)}; this column is in {own}: write {value * units[unit]:.12g}")
    return value


def converted(cell: str, mark: str | None, units: Mapping[str, float], factor: float) -> float:
    """
    Reads a number as `number_of` does, in the column's own unit whatever unit it is in.

    Parameters
    ----------
    factor
        How many of the column's own a number is that has no unit behind it.
    """
    value, unit = _number(cell, mark, units)
    found = units[unit] if unit else factor
    return value if found == 1 else float(f"{value * found:.12g}")


def _number(cell: str, mark: str | None, units: Mapping[str, float]) -> tuple[float, str]:
    """Returns a number and the unit behind it, which is one of `units` or empty."""
    text = SPACES.sub("", cell)
    found = NUMBER.fullmatch(text)
    if found is None or found[1] not in ("", "$", "€", "£", "USD"):
        raise UnreadableNumberError(f"is {_shown(cell)}; expected a number")
    if found[1] in ("€", "£"):
        raise UnreadableNumberError(f"is {_shown(cell)}; expected US dollars")
    digits, unit = found[2], found[3].casefold()
    value = _value(cell, digits, mark)
    if unit and unit not in units:
        expected = next((name for name, factor in units.items() if factor == 1), None)
        right = f"a number, in {expected}" if expected else "a number without a unit"
        raise UnreadableNumberError(f"is {_shown(cell)}; expected {right}")
    return value, unit


def _value(cell: str, digits: str, mark: str | None) -> float:
    commas, points = digits.count(","), digits.count(".")
    is_grouped = GROUPED.fullmatch(digits) is not None
    if mark is None and commas == 1 and not points and is_grouped:
        plain, decimal = digits.replace(",", ""), digits.replace(",", ".")
        raise UnreadableNumberError(f"is {_shown(cell)}, which could be two numbers; write {plain} or {decimal}")
    mark = mark or "."
    other = "." if mark == "," else ","
    whole, _, decimals = digits.partition(mark)
    # Thousands: groups of three before the decimals, nothing of the kind within them.
    is_right = mark not in decimals and other not in decimals
    if not is_right or (other in whole and not GROUPED.fullmatch(whole)):
        raise UnreadableNumberError(f"is {_shown(cell)}; expected a number such as 1234.5")
    try:
        return float(f"{whole.replace(other, '')}.{decimals or 0}" if "e" not in digits.lower() else digits)
    except ValueError as error:
        raise UnreadableNumberError(f"is {_shown(cell)}; expected a number such as 1234.5") from error


def _shown(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else f"{cell[:37]}...")
