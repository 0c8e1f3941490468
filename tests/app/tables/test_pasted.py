"""Tables pasted from spreadsheets."""

import pandas as pd
import pytest

from sliceplan.app.session.session import tables_of
from sliceplan.app.tables.pasted import csv_text, read_table
from sliceplan.solver.formats.problem_files import example_problems


def first(text, table="workloads", **known):
    read = read_table(text, table, known)
    assert read.problems == ()
    assert read.marks[0] == ""
    return {key: value for key, value in read.rows.loc[0].items() if not pd.isna(value)}


def mark(text, table="workloads"):
    read = read_table(text, table)
    assert not read.is_right
    return read.marks[0] or " ".join(read.problems)


def problem(text, table="workloads"):
    return " ".join(read_table(text, table).problems)


SERVICE = {"name": "a", "model": "vgg16", "rate_rps": 50.0, "slo_ms": 300.0}


@pytest.mark.parametrize(
    "text",
    [
        "name\tmodel\trate_rps\tslo_ms\na\tvgg16\t50\t300",
        "name,model,rate_rps,slo_ms\na,vgg16,50,300\n",
        "\ufeffSLO [ms];QPS;Service;Model\r\n300;50;a;vgg16\r\n",
        "Latency (ms)\trequests per second\tWorkload\tNETWORK\n300\t50\ta\tvgg16",
        'service,model,"rate [req/s]",latency_slo_ms\na,vgg16,50.0,300 ms',
        "id;model;rps;slo\na;vgg16;50,0;300",
        "name,model,load,deadline\na,VGG16,50 rps,300",
    ],
)
def test_columns_are_found_in_any_order_by_their_usual_names(text):
    assert first(text, model=["vgg16"]) == SERVICE


def test_every_column_is_found_by_its_own_name():
    for name in ("demo", "mixed", "igniter"):
        tables = tables_of(example_problems()[name])
        assert read_table(csv_text(tables.fleet), "fleet").rows.equals(tables.fleet)
        assert read_table(csv_text(tables.workloads), "workloads").rows.equals(tables.workloads)


def test_a_fleet_is_read_with_its_lists():
    text = "GPU type;Number;Price ($/h);Sharing;Hosts\na100-80gb;8;$3,43;MIG, mps;n1:4 n2:4"
    assert first(text, "fleet", gpu=["A100-80GB"], sharing=["mig", "mps"]) == {
        "gpu": "A100-80GB",
        "count": 8,
        "price_per_hour": 3.43,
        "sharing": "MIG, MPS",
        "nodes": "n1:4, n2:4",
    }


@pytest.mark.parametrize(
    ("cells", "rates"),
    [
        (("1,234.5", "1,234"), (1234.5, 1234)),
        (("1.234,5", "1.234", "7,25"), (1234.5, 1234, 7.25)),
        (("1 234,5", "1\u00a0234"), (1234.5, 1234)),
        (("1'234.5", "1.5e3"), (1234.5, 1500)),
        (("1,234,567", "1,234"), (1234567, 1234)),
        (("1.234",), (1.234,)),
    ],
)
def test_decimal_marks_and_thousands_separators_are_told_apart_by_the_other_numbers(cells, rates):
    read = read_table("name\trate\n" + "\n".join(f"s\t{cell}" for cell in cells), "workloads")
    assert read.is_right
    assert tuple(read.rows["rate_rps"]) == rates


def test_a_number_that_could_be_two_is_refused_with_both():
    assert "rate_rps is '1,234', which could be two numbers; write 1234 or 1.234" in mark("name\trate\ns\t1,234")


def test_the_separator_decides_where_nothing_else_does():
    assert first("name;rate\ns;1,234") == {"name": "s", "rate_rps": 1.234}


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("slo (s)", "is in s; expected ms: multiply by 1000 and call it slo_ms"),
        ("slo_s", "is in s; expected ms: multiply by 1000"),
        ("latency [us]", "is in us; expected ms: divide by 1000"),
        ("rate [rpm]", "is in rpm; expected rps: divide by 60 and call it rate_rps"),
        ("memory (GiB)", "is in gib; expected mib: multiply by 1024"),
        ("slo (fortnights)", "is in fortnights; expected ms: call it slo_ms"),
    ],
)
def test_a_header_in_another_unit_is_refused_with_what_would_be_right(header, said):
    assert said in problem(f"name\tmodel\t{header}\na\tvgg16\t1")


def test_a_cell_in_another_unit_is_refused_with_what_would_be_right():
    assert "slo_ms is '0.2 s'; this column is in ms: write 200" in mark("name,slo\na,0.2 s")
    assert "price_per_hour is '€3'; expected US dollars" in mark("gpu,price\nL4,€3", "fleet")


@pytest.mark.parametrize("cell", ["many", "1-2", "1..2", "12,34.5,6", "--"])
def test_what_is_no_number_is_refused(cell):
    assert "rate_rps is" in mark(f"name\trate\ns\t{cell}")


def test_rows_that_are_wrong_are_marked_and_the_others_are_not():
    read = read_table("name,rate\na,5\nb,x\nc,7,8\n", "workloads")
    assert [bool(text) for text in read.marks] == [False, True, True]
    assert "has 3 cells; the first line names 2 columns" in read.marks[2]


def test_unknown_columns_are_named_and_left_out():
    read = read_table("name,team,rate\na,blue,5", "workloads")
    assert read.is_right
    assert "'team'" in read.notes[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("a,vgg16,50,300", "the first line names no columns"),
        ("name,rate", "no row below it"),
        ("name,rate,rps\na,1,2", "two columns are rate_rps"),
        ("name,rate\n" + "a,1\n" * 20_001, "at most 20,000"),
    ],
)
def test_what_is_no_table_is_refused_with_what_would_be_right(text, said):
    assert said in problem(text)
