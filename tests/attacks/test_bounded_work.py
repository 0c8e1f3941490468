"""What is made to keep its reader busy is given up early: work, findings and memory are counted, not seconds."""

import difflib
import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from problems.small_problem import GOOD
from pydantic import ValidationError
from support.hostile_inputs import hostile_problems, packed

from sliceplan.app.session.links import MOST_BYTES, Link, TooLongError, link_of, query_of
from sliceplan.app.session.uploaded import MOST_VALUES as MOST_UPLOADED
from sliceplan.app.session.uploaded import uploaded_problem
from sliceplan.app.tables.pasted import MOST_ROWS, read_table
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model import parsing
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.first_wrong import MOST_VALUES, Looked, until_wrong
from sliceplan.solver.model.parsing import MAX_FINDINGS, parse_record, parse_text
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.what_if import WhatIf
from sliceplan.solver.performance.resolve import resolve

HOSTILE = dict(hostile_problems(100_000))
del HOSTILE["services that are right"]

VALID_BUT_FOR_NAMES = ("unknown models", "GPUs that are not in the fleet", "unknown GPUs", "a fleet of unknown GPUs")
WRONG = [name for name in HOSTILE if name not in ("deep nesting", "lists in a list", *VALID_BUT_FOR_NAMES)]


@pytest.fixture
def compared(monkeypatch):
    """Returns a list that grows with each search for names alike."""
    calls = []
    real = difflib.get_close_matches

    def counted(name, *arguments, **options):
        calls.append(len(name))
        return real(name, *arguments, **options)

    monkeypatch.setattr(difflib, "get_close_matches", counted)
    return calls


@pytest.mark.parametrize("name", HOSTILE)
def test_few_findings_are_made_of_many_mistakes(name, compared):
    """A link of 2,044 characters took 16 s, an upload of 4.8 MB 51 s and 880 MiB."""
    with pytest.raises(InputError) as said:
        resolve(uploaded_problem("a.json", HOSTILE[name].encode()), shipped_profiles(), "a.json")
    assert len(said.value.findings) <= 2 * MAX_FINDINGS + 2
    assert len(str(said.value)) < 500 * len(said.value.findings)
    assert len(compared) <= 2 * MAX_FINDINGS
    assert max(compared, default=0) <= 100


@pytest.mark.parametrize("name", WRONG)
def test_of_many_mistakes_few_are_looked_at(name):
    data = json.loads(HOSTILE[name])
    with pytest.raises(ValidationError) as first:
        until_wrong(Problem).validate_python(data)
    assert first.value.error_count() <= max(20, len(data), len(str(data["workloads"][0])) // 10)
    with pytest.raises(ValidationError) as found:
        Problem.model_validate(Looked(data, first.value).data)
    assert found.value.error_count() <= max(6 * MOST_VALUES, first.value.error_count())


@given(
    st.lists(st.sampled_from([0, 0, 0, 0, 1, 2]), min_size=1, max_size=40),
    st.lists(st.sampled_from([0, 0, 1, 2]), min_size=1, max_size=6),
)
def test_what_is_said_of_a_file_is_all_that_a_full_validation_finds(services, types):
    """Property: looking at a part first changes nothing where all of it is looked at."""
    rows = [{**GOOD["workloads"][0], "name": f"w{i}"} for i in range(len(services))]
    changes = [
        {},
        {"rate_rps": -1, "gpus": ["A100-80GB", 7, 8]},
        {"name": "a b", "colour": "red", "batch_sizes": [1, 0]},
    ]
    fleet = [{}, {"count": -1}, {"sharing": ["mig", "x", "y"], "nodes": [{"name": "n", "count": 0}, {}]}]
    data = {
        **GOOD,
        "fleet": [{"gpu": "A100-80GB", **fleet[kind]} for kind in types],
        "workloads": [{**row, **changes[kind]} for row, kind in zip(rows, services, strict=True)],
    }
    try:
        Problem.model_validate(data)
    except ValidationError as error:
        with pytest.raises(InputError) as said:
            parse_record(Problem, data, "x")
        number = sum(item["type"] != "too_short" for item in error.errors())
        assert len(said.value.findings) == min(number, MAX_FINDINGS) + (number > MAX_FINDINGS)
        if number > MAX_FINDINGS:
            assert f"and {number - MAX_FINDINGS} more findings of this kind" in str(said.value)
    else:
        assert parse_record(Problem, data, "x") == Problem.model_validate(data)


def test_a_wrong_entry_far_behind_right_ones_is_found():
    data = {**GOOD, "workloads": [{**GOOD["workloads"][0], "name": f"w{i}"} for i in range(20_000)]}
    data["workloads"][19_990] = {**data["workloads"][19_990], "rate_rps": -1}
    with pytest.raises(InputError, match=r"workloads\[19990\].rate_rps is -1"):
        parse_record(Problem, data, "x")


def test_findings_that_were_not_looked_for_are_not_counted():
    data = {**GOOD, "workloads": [{}] * 100_000}
    with pytest.raises(InputError, match=r"and at least \d+ more findings; what follows was not looked at"):
        parse_record(Problem, data, "x")


@pytest.mark.parametrize(("kind", "number"), [("yaml", 200_000), ("json", 400_000)])
def test_of_a_file_with_too_many_values_nothing_is_built(monkeypatch, kind, number):
    def fail(*_, **__):
        raise AssertionError("it was built")

    monkeypatch.setattr(yaml, "load", fail)
    monkeypatch.setattr(parsing.json, "loads", fail)
    with pytest.raises(InputError, match=f"it has more than {MOST_UPLOADED[kind == 'json']:,} values"):
        uploaded_problem(f"a.{kind}", f"[{'1,' * number}1]".encode())


def test_a_mapping_with_more_keys_than_any_file_has_is_refused():
    keys = {f"k{i}": 1 for i in range(10_001)}
    for text in (json.dumps(keys), "\n".join(f"{key}: 1" for key in keys)):
        with pytest.raises(InputError, match="has 10,001 keys"):
            parse_text(text, "x", is_json=text[0] == "{")


def test_a_link_inflates_to_no_more_than_is_read():
    with pytest.raises(InputError, match="holds more than 256 KiB"):
        link_of({"problem": packed("[" + " " * 10**6 + "]")})
    names = [f"w{i}" for i in range(20_000)]
    with pytest.raises(TooLongError, match=f"at most {MOST_BYTES:,} are read|addresses hold about"):
        query_of(Link(Problem.model_validate(GOOD), WhatIf(rates=dict.fromkeys(names, 1.0))))


def test_a_pasted_table_is_given_up_at_the_first_row_too_many():
    header = "service,model,rps,slo\n"
    many = read_table(header + "a,resnet50,1,200\n" * (2 * MOST_ROWS), "workloads")
    assert many.problems == (f"has more than {MOST_ROWS:,} rows; at most {MOST_ROWS:,} are read",)
    assert read_table("," * 1_000_000, "workloads").problems == ("has more than 100 columns; at most 100 are read",)
