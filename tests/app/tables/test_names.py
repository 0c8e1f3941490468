"""Names as people write them: those that a problem takes stay, all others become one, and no two the same."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from sliceplan.app.tables.names import accepted_names, told, with_accepted_names
from sliceplan.app.tables.pasted import read_table
from sliceplan.solver.model.base import Name

NAME = TypeAdapter(Name)


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("search engine", "search-engine"),
        ("Böse Straße", "Bose-Strasse"),
        ("検索", "u691c-u7d22"),
        ("été/hiver", "ete-hiver"),
        ("  .hidden. ", "hidden"),
        ("…", "service"),
        ("x" * 80, "x" * 63),
    ],
)
def test_names_are_made_by_the_rule(written, made):
    assert accepted_names([written]) == {written: made}


@given(st.lists(st.text(max_size=80), max_size=12))
def test_any_names_become_names_of_a_problem_and_stay_apart(written):
    """Property: each is accepted, distinct names stay distinct, and what was accepted is kept."""
    renamed = accepted_names(written)
    made = [renamed.get(name, name) for name in dict.fromkeys(written)]
    assert all(NAME.validate_python(name) for name in made)
    assert len(set(made)) == len(made)
    assert not any(name in renamed for name in written if _is_one(name))


def _is_one(name):
    try:
        return bool(NAME.validate_python(name))
    except ValueError:
        return False


def test_a_pasted_table_says_what_it_calls_otherwise_and_leaves_what_stands_twice():
    names = ("my search", "my-search", "検索", "A", "A")
    rows = "".join(f"{name}\tbert\t5\t300\n" for name in names)
    read = read_table(f"name\tmodel\trps\tslo\n{rows}", "workloads")
    assert list(read.rows["name"]) == ["my-search-2", "my-search", "u691c-u7d22", "A", "A"]
    assert "'my search' is called my-search-2" in read.notes[0]
    assert "and 2 more likewise" in told({str(i): str(i) for i in range(5)})


def test_names_typed_into_the_table_become_names_of_a_problem_and_missing_ones_stay_missing():
    table = pd.DataFrame({"name": ["検索", "shop", None, "", "my shop"], "rate_rps": [1.0, 2.0, 3.0, 4.0, 5.0]})
    named, renamed = with_accepted_names(table)
    assert list(named["name"].fillna("none")) == ["u691c-u7d22", "shop", "none", "", "my-shop"]
    assert named["rate_rps"].equals(table["rate_rps"])
    assert renamed == {"検索": "u691c-u7d22", "my shop": "my-shop"}
    assert table["name"][0] == "検索"
