"""A sample of the random command lines (command_lines.py), and what the whole run of them found."""

import json

import pytest
from attacks.command_lines import attack
from command_line import assert_refused, sliceplan
from instances import ROOT
from load_tests import metrics

PLAN = ROOT / "plans" / "demo.plan.json"

TOO_LONG = "x" * 300


def test_random_command_lines_end_in_a_sentence_and_a_known_exit_code():
    outcome = attack(120, 0)
    assert not outcome.wrong, outcome.wrong[0]
    assert {0, 2} <= set(outcome.codes)


@pytest.mark.parametrize(
    "arguments",
    [
        ("solve", TOO_LONG),
        ("solve", ROOT / "plans" / "demo.yaml", "-o", TOO_LONG),
        ("assign", PLAN, "--nodes", "a:8", "-o", f"{TOO_LONG}/plan.json"),
        ("export", PLAN, "--format", "csv", "-o", TOO_LONG),
        ("profiles", "--profiles", TOO_LONG),
        ("sign", PLAN, "--key", TOO_LONG),
    ],
)
def test_a_name_that_no_file_can_have_is_refused(arguments):
    assert_refused(sliceplan(*arguments), "File name too long")


def test_a_file_without_any_result_is_refused_in_a_sentence(file):
    load = file("[]", "load.txt")
    done = sliceplan(
        "import-measurements", "vllm", load, "--gpu", "A100-80GB", "--sm-percent", "100", "-o", load.parent / "p"
    )
    assert_refused(done, "no run is in them")


def test_names_of_a_model_that_are_no_texts_are_no_name(file):
    data = json.loads(metrics())
    data["input_config"] = {"model_names": [{"not": "a text"}], "model": ["m"]}
    load = file(data, "load.txt")
    done = sliceplan("import-measurements", "aiperf", load, "--gpu", "A100-80GB", "--sm-percent", "100", "-o", "out")
    assert_refused(done, "--model: is missing")
