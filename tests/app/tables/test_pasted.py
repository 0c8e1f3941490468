"""Tables pasted from spreadsheets."""

import pandas as pd
import pytest

from sliceplan.app.session.session import tables_of
from sliceplan.app.tables.pasted import csv_text, read_table
from sliceplan.app.tables.pasted_header import Choice
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
    ("header", "cell", "value", "note"),
    [
        ("slo (s)", "0.3", ("slo_ms", 300.0), "'slo (s)' is converted to milliseconds"),
        ("slo_s", "0.07", ("slo_ms", 70.0), "'slo_s' is converted to milliseconds"),
        ("latency [us]", "1500", ("slo_ms", 1.5), "'latency [us]' is converted"),
        ("rate [rpm]", "90", ("rate_rps", 1.5), "'rate [rpm]' is converted to requests per second"),
        ("requests per hour", "7200", ("rate_rps", 2.0), "'requests per hour' is converted"),
        ("memory (GiB)", "2", ("memory_mib", 2048.0), "'memory (GiB)' is converted to MiB"),
        ("slo (s)", "250 ms", ("slo_ms", 250.0), "is converted"),
        ("slo (p99, ms)", "250", ("slo_ms", 250.0), ""),
        ("latency (p99)", "250", ("slo_ms", 250.0), ""),
    ],
)
def test_a_column_in_another_unit_is_converted_and_said(header, cell, value, note):
    read = read_table(f"name\tmodel\t{header}\na\tvgg16\t{cell}", "workloads")
    assert read.is_right
    assert read.rows.loc[0, value[0]] == value[1]
    assert note in " ".join(read.notes)
    assert bool(read.notes) == bool(note)


def test_a_column_in_an_unknown_unit_is_refused_with_what_would_be_right():
    assert "is in fortnights; expected ms: call it slo_ms" in problem("name\tmodel\tslo (fortnights)\na\tvgg16\t1")


def test_a_cell_in_another_unit_is_converted_and_one_in_none_that_is_known_is_refused():
    assert first("name,slo,rate\na,0.2 s,120 rpm") == {"name": "a", "slo_ms": 200.0, "rate_rps": 2.0}
    assert "slo_ms is '3 days'; expected a number, in ms" in mark("name,slo\na,3 days")
    assert "price_per_hour is '€3'; expected US dollars" in mark("gpu,price\nL4,€3", "fleet")


OWN = "Service name,Model,Peak QPS,p99 latency target,Team\na,vgg16,50,0.3s,blue"


def test_a_word_of_a_name_is_enough_for_what_services_need_and_is_said():
    assert first(OWN) == SERVICE
    assert first("Service;Model;Max requests per minute;timeout SLO s\na;vgg16;3000;0,3") == SERVICE
    read = read_table(OWN, "workloads")
    assert read.header.guessed == ("rate_rps", "slo_ms")
    assert "'Peak QPS' is taken as rate_rps" in read.notes
    assert "no column here is called 'Team'; it is left out" in read.notes


@pytest.mark.parametrize(
    "header",
    [
        "name,model,rps,avg latency",
        "name,model,rps,measured latency of today",
        "name,model,rps,latency of images,latency of texts",
        "name,model,rps,timeouts",
        "name,model,rps,things",
    ],
)
def test_nothing_is_guessed_of_a_name_that_may_mean_something_else(header):
    read = read_table(f"{header}\n{','.join('1' for _ in header.split(','))}", "workloads")
    assert read.header.missing == ("slo_ms",)
    assert read.header.guessed == ()


def test_a_column_is_where_it_is_chosen_to_be_in_the_unit_that_is_chosen():
    text = "Dienst,Netz,Last,Grenze\na,vgg16,3000,0.3"
    assert "the first line names no columns" in problem(text)
    chosen = {
        "name": Choice("Dienst"),
        "model": Choice("Netz"),
        "rate_rps": Choice("Last", "rpm"),
        "slo_ms": Choice("Grenze", "s"),
    }
    read = read_table(text, "workloads", chosen=chosen)
    assert read.is_right
    assert read.rows.loc[0, ["name", "model", "rate_rps", "slo_ms"]].to_dict() == SERVICE
    assert read.header.cell_of("slo_ms") == "Grenze"
    assert read.header.unit_of("rate_rps") == "rpm"


def test_one_of_two_columns_that_are_called_alike_is_chosen_and_the_other_left_out():
    text = "name,model,rps,latency,slo\na,vgg16,50,7,300"
    assert "two columns are slo_ms" in problem(text)
    read = read_table(text, "workloads", chosen={"slo_ms": Choice("slo")})
    assert read.rows.loc[0, "slo_ms"] == 300
    assert "'latency'; it is left out" in " ".join(read.notes)
    assert read_table(text, "workloads", chosen={"slo_ms": Choice("")}).header.missing == ("slo_ms",)


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
