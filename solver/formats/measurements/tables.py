"""CSV with several tables, each with a header, between blank lines."""

import csv
from dataclasses import dataclass

from .sample import refused


@dataclass(frozen=True)
class Row:
    """A row of a table by its header, with what a message calls it."""

    source: str
    where: str
    cells: dict[str, str]


Table = list[Row]


def read_tables(text: str, source: str) -> list[Table]:
    """
    Returns the tables of a file, without those that have no rows.

    Raises
    ------
    InputError
        If the text is not CSV, a header has a name twice, or a row has more or fewer cells than its header.
    """
    tables: list[Table] = []
    header: list[str] | None = None
    reader = csv.reader(text.splitlines(), strict=True)
    try:
        for cells in reader:
            where = f"line {reader.line_num}"
            if not any(cell.strip() for cell in cells):
                header = None
                continue
            stripped = [cell.strip() for cell in cells]
            if header is None:
                header = stripped
                tables.append([])
                if len(set(header)) < len(header):
                    raise refused(source, where, "names a column twice")
            elif len(stripped) != len(header):
                raise refused(source, where, f"has {len(stripped)} cells; the header has {len(header)}")
            else:
                tables[-1].append(Row(source, where, dict(zip(header, stripped, strict=True))))
    except csv.Error as error:
        raise refused(source, f"line {reader.line_num}", f"is not valid CSV: {error}") from error
    found = [table for table in tables if table]
    if not found:
        raise refused(source, "", "has no rows; expected CSV with a header")
    return found
