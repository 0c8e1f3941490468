"""Files that are made to break their reader: each is answered at once, in one sentence."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems.small_problem import GOOD, changed
from support.command_line import assert_refused, sliceplan

from sliceplan.agent.trust.strict_json import parse_json
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.parsing import parse_text, without_repeated_keys


class Counted(str):
    """A key that counts how often keys are compared."""

    __slots__ = ()
    comparisons = 0

    __hash__ = str.__hash__

    def __eq__(self, other):
        Counted.comparisons += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize("number", [1_000, 10_000])
def test_a_repeated_key_is_found_in_a_few_comparisons_a_key(number):
    """It took one for each pair of keys: 94 s for 0.73 MB, before any signature was looked at."""
    pairs = [(Counted(f"key-{i}"), i) for i in range(number)]
    pairs.append((Counted(f"key-{number - 1}"), 0))
    Counted.comparisons = 0
    with pytest.raises(ValueError, match=f"the key 'key-{number - 1}' stands twice"):
        without_repeated_keys(pairs)
    assert Counted.comparisons < 20 * number


@given(st.lists(st.sampled_from("abcdef"), max_size=8))
def test_keys_are_refused_exactly_if_one_stands_twice(keys):
    text = "{" + ", ".join(f'"{key}": {i}' for i, key in enumerate(keys)) + "}"
    for parse in (lambda: parse_text(text, "x.json"), lambda: parse_json(text.encode(), "x")):
        if len(set(keys)) == len(keys):
            assert parse() == {key: i for i, key in enumerate(keys)}
        else:
            first = next(key for key in keys if keys.count(key) > 1)
            with pytest.raises(InputError, match=f"the key '{first}' stands twice"):
                parse()


@pytest.mark.parametrize("value", ["!!bool x", "!!timestamp x", "!!int x", "!!float x", "!!binary x", "2026-13-45"])
def test_a_value_that_is_not_what_its_tag_says_is_refused(file, value):
    assert_refused(sliceplan("solve", file(f"version: {value}\nname: x\n")), "problem.yaml")


@pytest.mark.parametrize("path", [("fleet", 0, "count"), ("workloads", 0, "rate_rps"), ("workloads", 0, "name")])
def test_an_integer_of_thousands_of_digits_is_refused(file, path):
    text = json.dumps(changed(path, "HERE")).replace('"HERE"', "0x" + "f" * 5000)
    assert_refused(sliceplan("solve", file(text)), "is an integer of 20000 bits")


@pytest.mark.parametrize("command", ["solve", "price", "compare"])
def test_rates_that_cannot_be_computed_with_are_refused_and_the_smallest_others_planned(file, command):
    for rate in (5e-324, 1e-310, 9e-101):
        done = sliceplan(command, file(changed(("workloads", 0, "rate_rps"), rate)))
        assert_refused(done, "workloads[0].rate_rps", "expected at least 1e-100 requests per second")
    done = sliceplan(command, file(changed(("workloads", 0, "rate_rps"), 1e-100)))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", [("solve",), ("show",), ("check", "/dev/zero"), ("assign", "--nodes", "a:8")])
def test_a_device_is_no_file(command):
    assert_refused(sliceplan(*command, "/dev/zero"), "/dev/zero: is a device; expected a file")


def test_random_bytes_in_place_of_a_problem_end_in_a_sentence(tmp_path):
    rng = random.Random(7)
    text = json.dumps(GOOD)
    for _ in range(40):
        bytes_ = bytearray(text.encode())
        for _ in range(rng.randint(1, 8)):
            bytes_[rng.randrange(len(bytes_))] = rng.randrange(256)
        path = tmp_path / rng.choice(["problem.yaml", "problem.json"])
        path.write_bytes(bytes_)
        done = sliceplan("solve", path)
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 1, 2, 3), done.stderr
