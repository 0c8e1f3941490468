"""config.pbtxt, read by Triton's own message definition, and the queue delay that its SLO leaves."""

import importlib.util
from pathlib import Path

import pytest
from google.protobuf import text_format
from problems.instances import ROOT, problem_of
from problems.shop import FILES
from support.exported import assert_golden, changed, demo, equal_shares, exported, mixed

from sliceplan.solver.api import solve
from sliceplan.solver.formats.exports.triton import queue_delay_us
from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.formats.problem_files import read_problem
from sliceplan.solver.model.errors import InputError


@pytest.fixture(scope="module")
def model_config():
    """Triton's ModelConfig, from the file in `tritonclient`; importing it as a module would take grpc."""
    package = importlib.util.find_spec("tritonclient").submodule_search_locations[0]
    spec = importlib.util.spec_from_file_location("model_config_pb2", Path(package, "grpc", "model_config_pb2.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ModelConfig


def problem(name):
    return read_problem(FILES / f"{name}.yaml")


@pytest.mark.parametrize(("name", "plan"), [("demo", demo()), ("mixed", mixed())])
def test_configs_say_what_the_plan_says_of_every_partition(name, plan, model_config):
    slos = {workload.name: workload.slo_ms for workload in problem(name).workloads}
    export = exported("triton", plan, problem=problem(name))
    found = set()
    for path, text in export.files.items():
        config = text_format.Parse(text, model_config())  # an unknown field or a wrong type raises
        assert path.split("/")[1:] == [config.name, "config.pbtxt"]
        (group,) = config.instance_group
        assert list(group.gpus) == [0]
        assert group.kind == group.KIND_GPU
        if config.max_batch_size > 1:
            assert list(config.dynamic_batching.preferred_batch_size) == [config.max_batch_size]
        delay = config.dynamic_batching.max_queue_delay_microseconds
        found.add((config.name, config.max_batch_size, group.count, delay))
    wanted = {
        (
            served.workload,
            served.batch,
            served.processes,
            int(1000 * (slos[served.workload] - 2 * served.latency_ms)) if served.batch > 1 else 0,
        )
        for gpu in plan.gpus
        for part in gpu.partitions
        for served in part.serves
    }
    assert found == wanted


def test_config_is_the_golden_one():
    files = exported("triton", demo(), problem=problem("demo")).files
    assert_golden("config.pbtxt", files["video-thumbs-3g-40gb-b46x2/video-thumbs/config.pbtxt"])


@pytest.mark.parametrize(
    ("slo_ms", "latency_ms", "delay_us"),
    [(100, 20, 60_000), (100, 49.9999, 0), (100, 50, 0), (100, 80, 0), (1, 0.25, 500)],
)
def test_queue_delay_leaves_room_for_a_busy_instance_and_the_execution(slo_ms, latency_ms, delay_us):
    assert queue_delay_us(slo_ms, latency_ms) == delay_us


def test_a_plan_that_promises_a_percentile_holds_no_batch_back(model_config):
    """What it promises is for instances that take at once what waits; a queue delay would be late for more."""
    problem = read_problem(ROOT / "plans" / "demo.yaml")
    export = exported("triton", read_plan(ROOT / "plans" / "demo.plan.json"), problem=problem)
    configs = [text_format.Parse(text, model_config()) for text in export.files.values()]
    assert {config.dynamic_batching.max_queue_delay_microseconds for config in configs} == {0}


def test_held_batches_have_the_plan_s_queue_delay(model_config):
    workloads = [
        {"model": "resnet50", "rate_rps": 900, "slo_ms": 150},
        {"model": "bert", "rate_rps": 20, "slo_ms": 400},
    ]
    problem = problem_of(workloads, latency="assembly")
    plan = solve(problem)
    export = exported("triton", plan, problem=problem)
    configs = [text_format.Parse(text, model_config()) for text in export.files.values()]
    held = {one.dispatch_after_ms for gpu in plan.gpus for part in gpu.partitions for one in part.serves}
    assert max(held) > 0
    delays = {config.dynamic_batching.max_queue_delay_microseconds for config in configs}
    assert delays == {int(1000 * ms) for ms in held}


def test_a_batch_of_one_needs_no_dynamic_batching(model_config):
    def one(data):
        data["gpus"][0]["partitions"][0]["serves"][0]["batch"] = 1

    files = exported("triton", changed(demo(), one), problem=problem("demo")).files
    text = files["search-embedding-1g-10gb-b1x3/search-embedding/config.pbtxt"]
    assert not text_format.Parse(text, model_config()).HasField("dynamic_batching")


def test_the_problem_is_asked_for_and_must_have_the_workloads():
    with pytest.raises(InputError, match="--problem: is missing; the queue delay is computed from the SLOs"):
        exported("triton", demo())
    with pytest.raises(InputError, match=r"partitions\[0\] serves search-embedding, which is not in the problem"):
        exported("triton", demo(), problem=problem("igniter"))


def test_what_is_left_of_a_missed_slo_is_nothing_and_said():
    def slow(data):
        data["gpus"][0]["partitions"][0]["serves"][0]["latency_ms"] = 200

    export = exported("triton", changed(demo(), slow), problem=problem("demo"))
    assert "Nothing of the SLO is left for collecting batches: search-embedding." in export.warnings
    assert "microseconds: 0" in export.files["search-embedding-1g-10gb-b6x3/search-embedding/config.pbtxt"]


def test_instances_on_a_share_are_one_process_with_all_of_it_and_that_is_said(model_config):
    plan = changed(equal_shares(), lambda d: d["gpus"][0]["partitions"][0]["serves"][0].update(processes=2))
    export = exported("triton", plan, problem=problem("igniter"))
    (text,) = [text for path, text in export.files.items() if "x2/" in path]
    assert text_format.Parse(text, model_config()).instance_group[0].count == 2
    assert any("start such a server with the whole share" in one for one in export.warnings)
    assert not any("whole share" in one for one in exported("triton", demo(), problem=problem("demo")).warnings)
