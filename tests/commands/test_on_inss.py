"""`sliceplan inss` and `train-inss`: the table, the report, a training that goes on, and what wrong input is told."""

import json

import numpy as np
import pytest
import yaml
from problems.inss_instances import alike, six_models
from support.command_line import assert_refused, sliceplan

from sliceplan.solver.model.inss_report import InssReport

NAME = "six-models-reconstructed"
FEW = ("--scheduler", "exact", "--scheduler", "igniter", "--tasks", "200")


def problem_file(folder, **changes):
    data = {**six_models().model_dump(mode="json", exclude_none=True), **changes}
    path = folder / "problem.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def test_every_scheduler_has_a_row_and_the_exact_one_is_first(tmp_path):
    report = tmp_path / "report.json"
    done = sliceplan("inss", NAME, "--tasks", "200", "--seconds", "20", "--json", report)
    assert done.returncode == 0, done.stderr
    found = InssReport.model_validate(json.loads(report.read_text()))
    assert found.schedulers[0].scheduler == "exact"
    assert found.schedulers[0].weighted == pytest.approx(found.exact_weighted)
    names = {row.scheduler for row in found.schedulers}
    assert {"exact", "inss-greedy", "inss-no-interference", "bda-gpulet", "gpulet", "gslice", "igniter"} <= names
    assert all(name in done.stdout for name in names)
    assert "exact plans with their batches" in done.stdout
    assert "not what is served" in done.stderr


def test_the_report_on_stdout_takes_the_place_of_the_tables():
    done = sliceplan("inss", NAME, *FEW, "--weights", "solo", "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["weights"] == "solo"
    assert found["exact_weighted"] < 100


def test_points_are_fitted_and_what_is_missing_is_named(tmp_path):
    points = [{"batch": b, "percent": p, "ms": 2 + 40 * b / p} for b in (1, 8, 32) for p in (12.0, 50.0, 100.0)]
    model = {"model": "mine", "rate_rps": 50, "slo_ms": 100, "running": {"points": points}}
    done = sliceplan("inss", problem_file(tmp_path, models=[model]), *FEW)
    assert done.returncode == 0, done.stderr
    assert "mine: running times by least-squares, off its 9 points by 0.0% (median), at most 0.0%" in done.stderr
    assert "nothing is said of L2 use, cache_sensitivity, kernels, memory" in done.stderr


def test_what_no_decision_keeps_is_proven():
    done = sliceplan("inss", NAME, *FEW, "--spare", "90")
    assert done.returncode == 1, done.stderr
    assert "Proven: no placement, units and batches keep every limit at 90 times the rates" in done.stderr
    assert "infeasible" in done.stdout


def test_beyond_twelve_models_a_limit_is_proven(tmp_path):
    path, report = tmp_path / "many.json", tmp_path / "report.json"
    path.write_text(alike(16, (3, 3), seed=0).model_dump_json(exclude_none=True))
    done = sliceplan("inss", path, *FEW, "--search-seconds", "1.5", "--json", report)
    assert done.returncode == 3, done.stderr
    found = InssReport.model_validate(json.loads(report.read_text()))
    (exact,) = (row for row in found.schedulers if row.scheduler == "exact")
    assert exact.status == "feasible"
    assert found.exact_weighted == pytest.approx(exact.weighted)
    assert found.exact_weighted < found.limit_weighted
    assert "Proven: no decision carries over" in done.stderr
    for words in (("inss", path, "--seconds", "10"), ("train-inss", path, "-o", tmp_path / "a.npz")):
        assert_refused(sliceplan(*words), "has 16 models", "takes exact plans, of at most 12 models")


def test_a_training_writes_an_actor_and_goes_on(tmp_path):
    words = ("--hidden", "6", "5", "--evaluate-every", "1")
    kept, actor = tmp_path / "kept.npz", tmp_path / "actor.npz"
    problem = problem_file(tmp_path, name="mine")
    first = sliceplan("train-inss", problem, "-o", actor, "--checkpoint", kept, "--episodes", "1", *words)
    assert first.returncode == 0, first.stderr
    assert "exact plans in the same environment: reward" in first.stderr
    assert "episode 1: reward" in first.stderr
    again = sliceplan("train-inss", problem, "-o", actor, "--checkpoint", kept, "--episodes", "2", *words)
    assert again.returncode == 0, again.stderr
    assert "goes on after 1 episodes of seed 1" in again.stderr
    with np.load(actor, allow_pickle=False) as file:
        record = json.loads(file["record"].tobytes())
    assert [one["episode"] for one in record["curve"]] == [1, 2]
    assert record["exact"]["late_share"] < 0.001
    done = sliceplan("inss", problem, "--scheduler", "inss-sac", "--actor", actor, "--tasks", "200")
    assert done.returncode == 0, done.stderr
    assert "inss-sac" in done.stdout
    other = problem_file(tmp_path, gpus=[six_models().gpus[0].model_dump(mode="json")])
    assert_refused(sliceplan("inss", other, "--actor", actor), "was trained for 'mine', which is another problem")


def test_a_training_that_time_ends_leaves_an_actor_and_a_checkpoint(tmp_path):
    kept, actor = tmp_path / "kept.npz", tmp_path / "actor.npz"
    words = ("train-inss", problem_file(tmp_path), "-o", actor, "--checkpoint", kept, "--hidden", "6", "5")
    done = sliceplan(*words, "--time-limit", "0.1", "--episodes", "100000")
    assert done.returncode == 3, done.stderr
    assert actor.exists()
    assert "of 0 episodes" in done.stderr or "of 1 episodes" in done.stderr
    assert "goes on after" in sliceplan(*words, "--episodes", "1").stderr


def test_wrong_input_is_refused(tmp_path):
    still = [one.model_dump(mode="json", exclude={"walk"}, exclude_none=True) for one in six_models().models]
    problem = problem_file(tmp_path, models=still)
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("name: x\ngpus: [{type: a, memory_mib: 1, unit_percent: 6}]\nmodels: [{model: b, running: {}}]\n")
    for words, said in (
        (("inss", NAME, "--scheduler", "exat"), "is 'exat'. Did you mean 'exact'?"),
        (("inss", problem, "--scheduler", "inss-sac"), "needs an actor that was trained for this problem"),
        (("inss", tmp_path / "no.yaml"), "cannot be read"),
        (("inss", wrong), "expected one of points, linear, rational; none of them is there"),
        (("train-inss", problem, "-o", tmp_path / "a.npz"), "no model has a `walk`"),
        (("train-inss", NAME, "-o", "-"), "--output: is `-`; what is trained needs a file"),
        (("train-inss", NAME, "-o", tmp_path / "x" / "a.npz"), "is no folder"),
        (("train-inss", NAME, "-o", tmp_path / "a.npz", "--checkpoint", problem), "is damaged"),
    ):
        assert_refused(sliceplan(*words), said)
    assert not (tmp_path / "a.npz").exists()
