"""`sliceplan import-measurements` as a user runs it, up to a plan that rests on it."""

import json

import pytest
from stand_ins.load_tests import PERF_ANALYZER, vllm
from support.command_line import assert_refused, sliceplan

PROBLEM = {
    "version": 1,
    "name": "chat",
    "fleet": [{"gpu": "A100-80GB"}],
    "workloads": [{"name": "chat", "model": "m", "rate_rps": 3, "slo_ms": 6000}],
}


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "run.json"
    path.write_text(vllm())
    return path


def test_measurements_of_two_slices_become_a_profile_that_plans_rest_on(run, tmp_path):
    profile, problem = tmp_path / "m.yaml", tmp_path / "chat.json"
    arguments = ("import-measurements", "vllm", run, "--gpu", "A100-80GB", "-o", profile)
    first = sliceplan(*arguments, "--mig-profile", "3g.40gb")
    assert first.returncode == 0, first.stderr
    assert "1 operating points of 1 model(s), measured." in first.stderr
    assert sliceplan(*arguments, "--mig-profile", "7g.80gb", "--append").returncode == 0
    only = tmp_path / "only.yaml"
    for words in (["--append"], []):
        arguments = ("import-measurements", "vllm", run, "--gpu", "A100-80GB", "-o", only, "--mig-profile", "3g.40gb")
        assert sliceplan(*arguments, *words).returncode == 0, "a file is made, and written over"
    problem.write_text(json.dumps(PROBLEM))
    done = sliceplan("solve", problem, "--profiles", profile)
    assert done.returncode == 0, done.stderr
    (gpu,) = json.loads(done.stdout)["gpus"]
    (served,) = gpu["partitions"][0]["serves"]
    assert (served["batch"], served["capacity_rps"], served["basis"]) == (8, 4.0, "measured")


def test_everything_that_is_missing_is_asked_for_at_once(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text(PERF_ANALYZER)
    done = sliceplan("import-measurements", "perf-analyzer", path, "-o", tmp_path / "p.yaml")
    options = ("--gpu", "--mig-profile", "--model", "--processes", "--batch")
    assert_refused(done, *(f"{option}: is missing" for option in options))
    assert not (tmp_path / "p.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("vlm", "x"), "TOOL: vlm is no load tester known here. Did you mean 'vllm'?"),
        (("vllm", "x", "--latency", "p98"), "--latency: p98 expected one of p99, p95"),
        (("vllm", "/nowhere"), "/nowhere: cannot be read"),
    ],
)
def test_wrong_arguments_are_refused(tmp_path, arguments, message):
    assert_refused(sliceplan("import-measurements", *arguments, "-o", tmp_path / "p.yaml"), message)


def test_help_lists_every_tool_within_80_columns():
    done = sliceplan("import-measurements", "--help", env={"COLUMNS": "80", "PATH": "/usr/bin"})
    assert max(map(len, done.stdout.splitlines())) <= 80
    for tool in (
        "model-analyzer:",
        "perf-analyzer:",
        "aiperf:",
        "genai-perf:",
        "vllm:",
        "mlperf:",
        "openvino:",
        "onnxruntime:",
    ):
        assert tool in done.stdout
