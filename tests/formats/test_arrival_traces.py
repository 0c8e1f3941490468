"""Recorded arrivals are read with dates or seconds, by service or not, and everything wrong in them is said."""

import pytest

from sliceplan.solver.formats.arrival_traces import read_arrival_trace
from sliceplan.solver.model.errors import InputError


def read(tmp_path, text):
    file = tmp_path / "trace.csv"
    file.write_text(text)
    return read_arrival_trace(file)


def test_seconds_by_service_count_from_the_first_of_all(tmp_path):
    found = read(tmp_path, "seconds,service\n10.5,a\n10.75,b\n11,a\n")
    assert {name: times.tolist() for name, times in found.items()} == {"a": [0, 500], "b": [250]}


def test_a_published_trace_is_read_as_it_is(tmp_path):
    """The first lines have the form of Azure's LLM inference trace of 2023, with seven digits of a second."""
    found = read(
        tmp_path,
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n"
        "2023-11-16 18:17:04.0319600,3180,8\n",
    )
    assert found[None].tolist() == pytest.approx([0, 52])


def test_everything_wrong_is_said_by_line(tmp_path):
    text = "time,service\n3,a\n2,a\n-1,a\nnoon,a\nnan,a\n4\n5,\n"
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    lines = str(error.value).split("\n")
    assert [line.partition(" line ")[2].partition(" has")[0].partition(" names")[0] for line in lines] == [*"345678"]
    for part in (
        "before that of the line above",
        "no negative one",
        "'noon'; expected seconds",
        "has 1 cells",
        "names no",
    ):
        assert part in str(error.value)


def test_of_many_wrong_lines_the_first_are_named(tmp_path):
    with pytest.raises(InputError, match="has 5 more lines that are wrong"):
        read(tmp_path, "time\n" + "x\n" * 15)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no header"),
        ("a,b\n1,2\n", "has the columns a, b; expected one of timestamp, seconds, time"),
        ("time\n", "has no requests"),
        ('time\n"1\n', "is not valid CSV"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)
