"""Names as people write them: these are seen, files have names that they take, and no two services are the same."""

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from problems.shop import shop
from pydantic import TypeAdapter

from sliceplan.app.tables.names import IN_FILES, accepted_names, called_otherwise, named, seen, told
from sliceplan.app.tables.pasted import csv_text, read_table
from sliceplan.app.tables.problem import fleet_table, problem_of, typed, workload_table
from sliceplan.solver.formats.problem_files import dump_problem, parse_problem
from sliceplan.solver.model.base import Name

NAME = TypeAdapter(Name)


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("search engine", "search-engine"),
        ("Böse Straße", "Bose-Strasse"),
        ("写真", "XieZhen"),
        ("поиск", "poisk"),
        ("été/hiver", "ete-hiver"),
        ("  .hidden. ", "hidden"),
        ("…", "service"),
        ("x" * 80, "x" * 63),
    ],
)
def test_names_are_made_by_the_rule(written, made):
    assert accepted_names([written]) == {written: made}


@given(st.lists(st.text(max_size=80), max_size=12), st.lists(st.from_regex(r"\A[a-c]\Z"), max_size=2))
def test_any_names_become_names_of_a_problem_and_stay_apart(written, taken):
    """Property: each is accepted, distinct names stay distinct, and what was accepted is kept."""
    renamed = accepted_names(written, taken)
    made = [renamed.get(name, name) for name in dict.fromkeys(written)]
    assert all(NAME.validate_python(name) for name in made)
    assert len(set(made)) == len(made)
    assert not set(renamed.values()) & set(taken)
    assert not any(name in renamed for name in written if _is_one(name))


def _is_one(name):
    try:
        return bool(NAME.validate_python(name))
    except ValueError:
        return False


ROW = {"model": "resnet50", "rate_rps": 10.0, "slo_ms": 200.0}
WRITTEN = st.lists(st.text(max_size=70), min_size=1, max_size=6, unique_by=seen).filter(
    lambda texts: all(map(seen, texts))
)


def tables_with(names, in_files=()):
    in_files = [*in_files, *[None] * (len(names) - len(in_files))]
    rows = [{"name": name, IN_FILES: kept, **ROW} for name, kept in zip(names, in_files, strict=True)]
    problem = shop()
    columns = list(workload_table(problem).columns)
    return fleet_table(problem), typed(pd.DataFrame(rows, columns=columns))


@given(WRITTEN)
def test_what_is_typed_is_what_is_seen_after_it_was_a_problem_and_a_file(written):
    """Property: table -> problem -> YAML -> problem -> table gives what was typed, but for signs that nobody sees."""
    problem = problem_of("shop", *tables_with(written), {})
    again = parse_problem(dump_problem(problem), "shop.yaml")
    assert again == problem
    table = workload_table(again)
    assert list(table["name"]) == [seen(name) for name in written]
    assert problem_of("shop", fleet_table(again), table, {}) == problem
    assert len({one.name for one in again.workloads}) == len(written)


@given(
    WRITTEN, st.lists(st.sampled_from("abcd") | st.none(), max_size=6), st.lists(st.sampled_from("abcd"), max_size=3)
)
@example(["à"], ["a", "b"], ["a"])  # "a", made of "à", is what the other one is called
def test_names_that_files_have_are_kept_whatever_people_call_the_services(written, in_files, typed_names):
    """Property: any table of differently called services is a problem; a name of a file is one row's at most."""
    shown = list(dict.fromkeys([*map(seen, written), *typed_names]))
    problem = problem_of("shop", *tables_with(shown, in_files[: len(shown)]), {})
    assert [one.label or one.name for one in problem.workloads] == shown
    for called, kept, one in zip(shown, [*in_files, *[None] * len(shown)], problem.workloads, strict=False):
        if kept is not None and kept not in shown and in_files.count(kept) == 1:
            assert (one.name, one.label) == (kept, called)


def test_a_label_that_is_changed_leaves_the_name_that_files_have():
    problem = problem_of("shop", *tables_with(["写真"]), {})
    table = workload_table(problem)
    table.loc[0, "name"] = "Bilder"
    (service,) = problem_of("shop", fleet_table(problem), table, {}).workloads
    assert (service.name, service.label) == ("XieZhen", "Bilder")


def test_services_that_are_called_the_same_are_refused_by_what_they_are_called():
    with pytest.raises(Exception, match="same label: 写真"):
        problem_of("shop", *tables_with(["写真", "写真"]), {})


def test_a_pasted_table_says_what_files_call_services_and_leaves_what_stands_twice():
    names = ("my search", "my-search", "写真", "A", "A")
    rows = "".join(f"{name}\tbert\t5\t300\n" for name in names)
    read = read_table(f"name\tmodel\trps\tslo\n{rows}", "workloads")
    assert list(read.rows["name"]) == list(names)
    assert "'my search' my-search-2, '写真' XieZhen" in read.notes[0]
    assert "and 2 more likewise" in told({str(i): str(i) for i in range(5)})


def test_a_table_as_csv_has_the_names_of_files_where_services_have_other_ones():
    table = workload_table(problem_of("shop", *tables_with(["写真", "shop"], ["photos"]), {}))
    assert read_table(csv_text(table), "workloads").rows.equals(table)
    assert IN_FILES not in csv_text(workload_table(shop()))


def test_rows_without_a_name_stay_without():
    rows = [{"name": "写真"}, {}, {"name": "\u202e"}, {"name": "my shop", "rate_rps": 5.0}]
    assert named(rows) == [
        {"name": "XieZhen", "label": "写真"},
        {},
        {},
        {"name": "my-shop", "label": "my shop", "rate_rps": 5.0},
    ]
    assert called_otherwise(rows) == {"写真": "XieZhen", "my shop": "my-shop"}
