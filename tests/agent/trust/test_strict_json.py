"""Limits of JSON from outside, each met exactly and passed by one."""

import pytest

from sliceplan.agent.trust.dsse import open_envelope
from sliceplan.agent.trust.strict_json import MAX_BYTES, MAX_DEPTH, MAX_INTEGER, parse_json
from sliceplan.solver.model.errors import InputError


def refused(text, **limits):
    with pytest.raises(InputError) as error:
        parse_json(text.encode(), "x.json", **limits)
    return str(error.value)


def test_values_are_counted_before_any_is_built():
    text = '{"a": [1, 2, "[,{"], "b": {}}'
    # The two braces and the bracket, two commas between values and one between fields, and one.
    assert parse_json(text.encode(), "x.json", 7) == {"a": [1, 2, "[,{"], "b": {}}
    assert "has more than 6 values" in refused(text, most_values=6)


def test_nesting_goes_to_its_limit():
    deep = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert parse_json(deep.encode(), "x.json")
    assert f"is nested deeper than {MAX_DEPTH} levels" in refused(f"[{deep}]")


@pytest.mark.parametrize("sign", ["", "-"])
def test_integers_are_those_that_every_reader_keeps(sign):
    assert parse_json(f"{sign}{MAX_INTEGER}".encode(), "x.json") == int(f"{sign}{MAX_INTEGER}")
    assert "an integer beyond" in refused(f"{sign}{MAX_INTEGER + 1}")


def test_a_plan_that_nobody_signed_is_told_from_an_envelope_with_a_field_too_many():
    with pytest.raises(InputError, match="is a plan that nobody signed"):
        open_envelope(b'{"planner": "exact"}', "x.json")
    with pytest.raises(InputError) as error:
        open_envelope(b'{"planner": 1, "payload": "", "payloadType": "", "signatures": []}', "x.json")
    assert "nobody signed" not in str(error.value)


def test_a_file_may_be_as_large_as_the_limit():
    assert parse_json(b"1".rjust(MAX_BYTES), "x.json") == 1
    assert "is larger than 16 MiB" in refused("1".rjust(MAX_BYTES + 1))
