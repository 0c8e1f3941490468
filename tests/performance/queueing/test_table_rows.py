"""Files of quantile tables: what is written is read, and the files that are shipped are written so."""

import math
from importlib.resources import files
from itertools import accumulate, repeat

import numpy as np
import pytest

from sliceplan.solver.performance import queueing
from sliceplan.solver.performance.queueing import load_table, slot_table
from sliceplan.solver.performance.queueing.table_rows import read_rows, rows_text


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Returns a function that reads a text as a file of the folder."""

    def of(text, least):
        (tmp_path / "table.csv").write_text(text, "ascii")
        monkeypatch.setattr("sliceplan.solver.performance.queueing.table_rows.files", lambda _: tmp_path)
        return read_rows("table.csv", least)

    return of


def test_what_is_written_is_read(read):
    rows = {
        (0.9, 1, 2): np.array([2.0, 2.0, 2.5, 39.999]),
        (0.99999, 3, 128): np.array([2.0, 2.001, 3.0, np.inf]),
        (0.5, 1, 1): np.full(4, 2.0),
    }
    found = read(rows_text(("processes", "batch"), (0.002, 0.00216, 0.5, 0.97), rows.items(), 2.0), 2.0)
    assert found.load.tolist() == [0.002, 0.00216, 0.5, 0.97]
    assert [tuple(key) for key in found.key.tolist()] == list(rows)
    assert found.number.tolist() == [row.tolist() for row in rows.values()]


def test_a_number_that_falls_is_read_as_the_greatest_before(read):
    text = rows_text(("batch",), (0.1, 0.2, 0.3), [((0.99, 4), np.array([3.0, 2.5, 4.0]))], 1.0)
    assert read(text, 1.0).number.tolist() == [[3.0, 3.0, 4.0]]


@pytest.mark.parametrize(
    ("file", "sizes", "least"),
    [
        (load_table.FILE, ("processes", "batch"), load_table.LEAST_SLACK),
        (slot_table.FILE, ("batch",), slot_table.LEAST_SLACK),
    ],
)
def test_files_that_are_shipped_are_as_they_would_be_written(file, sizes, least):
    """Apart from numbers that fall, which are read as the greatest before."""
    head, *lines = (files(queueing) / file).read_text("ascii").splitlines()
    found, keys = read_rows(file, least), 1 + len(sizes)
    again = rows_text(sizes, found.load.tolist(), zip(map(tuple, found.key), found.number, strict=True), least)
    for line, cells in zip([head, *lines], map(str.split, again.splitlines(), repeat(",")), strict=True):
        key, numbers = line.split(",")[:keys], line.split(",")[keys:]
        if line != head:
            rising = accumulate((int(cell) or math.inf for cell in numbers), max)
            numbers = ["0" if one == math.inf else str(one) for one in rising]
        assert [*key, *numbers] == cells
