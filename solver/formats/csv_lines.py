"""CSV line by line: each wrong line is named, the first ten of them, and how many more there are."""

import csv
from collections.abc import Callable
from pathlib import Path

from ..model.errors import Finding, InputError
from ..model.parsing import read_text

MOST_FINDINGS = 10
"""Lines of a file that are named before the rest is counted."""


def read_csv_lines(
    path: Path, take_header: Callable[[list[str]], str | None], take_line: Callable[[list[str]], str | None]
) -> None:
    """
    Gives the header to one function, then every line that is not empty to the other.

    Parameters
    ----------
    take_header, take_line
        Take the cells; return what is wrong with them, None: nothing. After a wrong header no line is read.

    Raises
    ------
    InputError
        With what is wrong with each line.
    """
    source = str(path)
    reader = csv.reader(read_text(path).splitlines(), strict=True)
    findings: list[Finding] = []
    wrong = 0
    try:
        header = next(reader, [])
        if fault := take_header(header):
            raise InputError([Finding(source, "line 1", fault)])
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            whole = len(cells) == len(header)
            fault = take_line(cells) if whole else f"has {len(cells)} cells; the header has {len(header)}"
            wrong += fault is not None
            if fault is not None and wrong <= MOST_FINDINGS:
                findings.append(Finding(source, f"line {reader.line_num}", fault))
    except csv.Error as error:
        raise InputError([Finding(source, f"line {reader.line_num}", f"is not valid CSV: {error}")]) from error
    if wrong > MOST_FINDINGS:
        findings.append(Finding(source, "", f"has {wrong - MOST_FINDINGS:,} more lines that are wrong"))
    if findings:
        raise InputError(findings)
