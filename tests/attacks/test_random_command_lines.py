"""A sample of the random command lines (command_lines.py), and what the whole run of them found."""

import json

import pytest
from attacks.command_lines import attack
from problems.instances import ROOT
from stand_ins.load_tests import metrics
from support.command_line import assert_refused, sliceplan

from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.exact_plans.answers import bound_of

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


@pytest.mark.parametrize("name", ["\x00", "-a", "a b", "x" * 64])
def test_a_node_whose_name_is_none_is_refused_in_a_sentence(file, name):
    state = {"capacity": {"nvidia.com/mig-3g.40gb": "2"}}
    node = {"kind": "Node", "metadata": {"name": name, "labels": {"nvidia.com/gpu.count": "1"}}, "status": state}
    done = sliceplan("import-state", "node-json", file(node, "node.json"), "--gpu", "A100-80GB", "--idle")
    assert_refused(done, "name of the node is ", "expected 1 to 63 letters")


@pytest.mark.parametrize(("cost", "bound"), [(-3.43, None), (0.0, None), (None, None), (6.86, 6.86)])
def test_a_bound_that_says_nothing_is_none(cost, bound):
    """A search that was ended at its very beginning failed on the negative bound of its solver."""
    resolved = resolve(example_problems()["demo"], shipped_profiles())
    assert bound_of(resolved, cost, "test").cost_per_hour == bound


@pytest.mark.parametrize("limit", ["1e999", "inf", "nan", "1e10", "-1"])
def test_a_time_limit_that_is_no_time_is_refused(limit):
    """An endless one failed where a solver takes it as an integer."""
    done = sliceplan("solve", ROOT / "plans" / "demo.yaml", "--time-limit", limit)
    assert_refused(done, "--time-limit")
