"""`sliceplan transition` as a user runs it."""

import json

import jsonschema
import pytest
from problems.instances import ROOT
from problems.shop import SHOP, SHOP_PLAN
from support.command_line import assert_refused, sliceplan

DEMO = SHOP_PLAN


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """Returns the demo's problem with two rates changed, and its plan."""
    folder = tmp_path_factory.mktemp("grown")
    text = SHOP.read_text()
    problem, plan = folder / "grown.yaml", folder / "grown.plan.json"
    problem.write_text(text.replace("rate_rps: 910", "rate_rps: 1400").replace("rate_rps: 940", "rate_rps: 500"))
    assert sliceplan("solve", problem, "-o", plan).returncode == 0
    return problem, plan


def test_with_a_named_spare_gpu_nothing_falls_short_and_the_stages_end_in_a_plan_that_holds(grown, tmp_path):
    problem, plan = grown
    assigned, written, stages = tmp_path / "assigned.json", tmp_path / "transition.json", tmp_path / "stages"
    spare = ("--spare", "A100-80GB=gpu-node-1/3")
    done = sliceplan("transition", DEMO, plan, *spare, "-o", assigned, "--json", written, "--stages", stages)
    assert done.returncode == 0, done.stderr
    assert "Every service keeps the lower of its two rates at every moment." in done.stdout
    assert done.stdout.startswith("! 1 mode change, 1 of them by a reset: gpu-node-1/3\n")
    assert max(map(len, done.stdout.splitlines())) <= 80
    transition = json.loads(written.read_text())
    schema = json.loads((ROOT / "solver" / "model" / "schema" / "transition.schema.json").read_text())
    jsonschema.validate(transition, schema)
    assert transition["shortfalls"] == []
    assert {gpu["name"] for gpu in transition["gpus"]} == {f"gpu-node-1/{i}" for i in range(4)}
    holds = sliceplan("check", problem, assigned)
    assert holds.returncode == 0, holds.stderr
    files = sorted(stages.iterdir())
    assert len(files) > 1
    assert files[-1].read_text() == assigned.read_text()


def test_without_room_it_says_what_falls_short_first_and_exits_with_3(grown):
    done = sliceplan("transition", DEMO, grown[1], "--start-seconds", 60)
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith("! ")
    assert "req/s from" in done.stdout.splitlines()[0]


def test_json_goes_to_stdout_alone(grown):
    done = sliceplan("transition", DEMO, grown[1], "--json", "-", "--strategy", "exchange-and-compact")
    assert json.loads(done.stdout)["strategy"] == "exchange-and-compact"


def test_equal_plans_need_nothing():
    done = sliceplan("transition", DEMO, DEMO)
    assert (done.returncode, done.stdout.strip()) == (0, "Nothing to do: all 13 partitions stay as they are.")


def test_wrong_input_is_refused_with_every_finding(tmp_path):
    spare = ("--spare", "A100=1", "--spare", "T4=x", "--spare", "T4=a/b", "--spare", "T4=1", "--spare", "T4=2")
    done = sliceplan("transition", DEMO, DEMO, *spare)
    assert_refused(
        done,
        "Did you mean 'A100-40GB' or 'A100-80GB'?",
        "expected TYPE=N",
        "T4=a/b",
        "--spare: T4=2 stands there twice",
    )

    done = sliceplan("transition", DEMO, DEMO, "--spare", "A100-80GB=gpu-node-1/2")
    assert_refused(done, f"--spare: A100-80GB=gpu-node-1/2 is A100-80GB/2 of {DEMO}, which is in use")

    data = json.loads(DEMO.read_text())
    data["gpus"][0]["partitions"][1]["start"] = 0
    data["gpus"][1]["index"] = data["gpus"][0]["index"]
    data["gpus"][2]["gpu"] = "A100-80"
    broken, empty = tmp_path / "broken.json", tmp_path / "empty.json"
    broken.write_text(json.dumps(data))
    nothing = dict.fromkeys(("cost_per_hour", "gap", "metrics", "prices")) | {"gpus": [], "gpus_used": 0}
    end = {"stopped": "time_limit", "time_limit_s": 1.0, "solver": None}
    empty.write_text(json.dumps({**data, **nothing, "status": "timeout", "search": end}))
    assert_refused(
        sliceplan("transition", broken, empty),
        f"{broken}: gpus[0].partitions[1] (1g.10gb at 0) overlaps partitions[0] (1g.10gb at 0)",
        f"{broken}: gpus[1].index is 0, and gpus[0] is GPU 0 of gpu-node-1, too",
        f"{broken}: gpus[2].gpu is 'A100-80'; not in the catalogue. Did you mean 'A100-80GB'?",
        f"{empty}: gpus is empty",
    )


def test_replan_moves_fewer_services_than_planning_anew_at_the_same_cost(grown, tmp_path):
    problem, anew = grown
    plan, report = tmp_path / "replanned.json", tmp_path / "report.json"
    done = sliceplan("replan", problem, "--running", DEMO, "-o", plan, "--json", report)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "proven: no plan is cheaper." in done.stderr
    assert sliceplan("check", problem, plan).returncode == 0
    cheapest, kept = json.loads(anew.read_text()), json.loads(plan.read_text())
    assert kept["cost_per_hour"] == cheapest["cost_per_hour"]
    moved = json.loads(sliceplan("transition", DEMO, plan, "--json", "-").stdout)["disturbed"]["services"]
    assert moved == json.loads(report.read_text())["moved"]
    anew_moved = json.loads(sliceplan("transition", DEMO, anew, "--json", "-").stdout)["disturbed"]["services"]
    assert len(moved) < len(anew_moved)


def test_replan_says_how_many_moves_it_takes_when_fewer_are_allowed(grown, tmp_path):
    full = tmp_path / "full.yaml"
    text = grown[0].read_text().replace("  - {name: gpu-node-2, count: 4}\n", "").replace("count: 4", "count: 3")
    full.write_text(text)
    done = sliceplan("replan", full, "--running", DEMO, "--most-moves", 0, "-o", tmp_path / "no.json")
    assert_refused(done, "no plan moves at most 0 services; moving 1 would do: style-match", code=1)
    assert not (tmp_path / "no.json").exists()


def test_replan_moves_what_runs_on_a_node_that_the_fleet_has_no_more(tmp_path):
    problem, plan, report = tmp_path / "moved.yaml", tmp_path / "plan.json", tmp_path / "report.json"
    text = SHOP.read_text()
    problem.write_text(text.replace("  - {name: gpu-node-1, count: 4}\n", "  - {name: gpu-node-1, count: 1}\n"))
    done = sliceplan("replan", problem, "--running", DEMO, "-o", plan, "--json", report)
    assert done.returncode == 0, done.stderr
    assert sliceplan("check", problem, plan).returncode == 0
    gone = {
        served["workload"]
        for gpu in json.loads(DEMO.read_text())["gpus"]
        if gpu["index"] > 0
        for partition in gpu["partitions"]
        for served in partition["serves"]
    }
    assert json.loads(report.read_text())["must_move"] == sorted(gone)
    places = {(gpu["node"], gpu["index"]) for gpu in json.loads(plan.read_text())["gpus"]}
    assert all(node is None or index < {"gpu-node-1": 1, "gpu-node-2": 4}[node] for node, index in places)


def test_stages_are_not_written_beside_those_of_another_transition(grown, tmp_path):
    stages, assigned = tmp_path / "stages", tmp_path / "assigned.json"
    stages.mkdir()
    (stages / "stage-99.plan.json").write_text("{}")
    done = sliceplan("transition", DEMO, grown[1], "--stages", stages, "-o", assigned)
    assert_refused(done, f"{stages}: has stages of another transition (stage-99.plan.json)")
    assert [path.name for path in stages.iterdir()] == ["stage-99.plan.json"]
    assert not assigned.exists()


def test_a_problem_in_place_of_a_plan_is_named_as_given():
    problem = SHOP
    assert_refused(sliceplan("transition", DEMO, problem), f"{problem}: line 1, column 1 is not valid JSON")
