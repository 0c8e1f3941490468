"""Results of load testers become profiles: right units, nothing made up, what is missing asked for."""

import json
import math
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stand_ins.load_tests import (
    GENAI_PERF,
    GENAI_SWEEP,
    MLPERF_ACCURACY,
    MLPERF_SERVER,
    MLPERF_SINGLE,
    MODEL_ANALYZER,
    MODEL_ANALYZER_GPU,
    ONNXRUNTIME,
    OPENVINO,
    OPENVINO_PYTHON,
    PERF_ANALYZER,
    PERF_CLIENT,
    VERBOSE,
    metrics,
    mlperf_detail,
    openvino_json,
    sweep,
    vllm,
)
from support.damage import damaged

from sliceplan.solver.formats.measurements.facts import Facts
from sliceplan.solver.formats.measurements.profiles import measured_profiles, with_more_points
from sliceplan.solver.formats.measurements.registry import TOOLS
from sliceplan.solver.formats.measurements.sample import SourceText
from sliceplan.solver.formats.profile_files import read_profiles, shipped_profiles, write_profiles
from sliceplan.solver.model.errors import InputError


def profiles(tool, *texts, **facts):
    """Returns the profiles of files on a 3g.40gb of an A100-80GB."""
    files = [SourceText(f"f{number}", text) for number, text in enumerate(texts)]
    wanted = {"gpu": "A100-80GB", "mig_profile": "3g.40gb", **facts}
    return measured_profiles(TOOLS[tool].read(files), Facts(**wanted), tool)


def points(tool, *texts, **facts):
    """Returns (batch, processes, latency in ms, inferences/s) of the only profile."""
    ((profile,), _) = profiles(tool, *texts, **facts)
    return [(one.batch, one.processes, one.latency_ms, one.throughput_rps) for one in profile.points]


ONE_LOAD = "".join(MODEL_ANALYZER.splitlines(keepends=True)[:2])

TRITON = {"model": "ocr", "batch": 1, "processes": 1}


@pytest.mark.parametrize(
    ("tool", "text", "facts", "expected"),
    [
        ("perf-analyzer", PERF_ANALYZER, TRITON, [(1, 1, 21.0, 70)]),
        ("perf-analyzer", PERF_ANALYZER, {**TRITON, "latency": "p50"}, [(1, 1, 14.0, 70)]),
        ("perf-analyzer", PERF_ANALYZER, {**TRITON, "processes": 2}, [(1, 2, 34.8, 87)]),
        ("perf-analyzer", PERF_ANALYZER, {**TRITON, "latency": "compute"}, [(1, 1, 11.51, 87)]),
        ("perf-analyzer", PERF_CLIENT, {**TRITON, "latency": "compute"}, [(1, 1, 4.8, 160)]),
        ("perf-analyzer", VERBOSE, {**TRITON, "latency": "avg"}, [(1, 1, 14.2, 70)]),
        ("model-analyzer", MODEL_ANALYZER, {}, [(1, 2, 11.0, 210), (4, 2, 31.2, 412.5), (8, 1, 22.0, 400)]),
        ("genai-perf", GENAI_PERF, {"model": "m", "batch": 10}, [(10, 1, 9436.13, 1.5)]),
        ("genai-perf", GENAI_SWEEP, {"model": "m"}, [(16, 1, 2346.72, 7.01), (32, 1, 3346.72, 10.09)]),
        ("genai-perf", metrics(), {}, [(8, 1, 2400, 4)]),
        ("aiperf", metrics(), {}, [(8, 1, 2400, 4)]),
        ("aiperf", json.dumps({"records": json.loads(metrics())}), {"model": "m", "batch": 8}, [(8, 1, 2400, 4)]),
        ("aiperf", metrics(latency=2e9, unit="ns"), {}, [(8, 1, 2400, 4)]),
        ("aiperf", GENAI_PERF, {"model": "m", "batch": 10}, [(10, 1, 9436.13, 1.5)]),
        ("aiperf", sweep((4, 90, 50), (8, 120, 77)), {"model": "m"}, [(4, 1, 50, 90), (8, 1, 77, 120)]),
        ("vllm", vllm(), {}, [(8, 1, 2400, 4)]),
        ("vllm", vllm(), {"latency": "avg"}, [(8, 1, 2000, 4)]),
        ("vllm", vllm() + vllm(max_concurrency=16, p99_e2el_ms=3600, mean_e2el_ms=3400, request_throughput=4.7) + "\n",
         {}, [(8, 1, 2400, 4), (16, 1, 3600, 4.7)]),
        ("mlperf", MLPERF_SERVER, {"model": "m", "batch": 8, "processes": 2}, [(8, 2, 15, 1000.5)]),
        ("mlperf", MLPERF_SERVER.replace("Completed samples per second    : 1000.50\n", ""),
         {"model": "m", "batch": 8, "processes": 2}, [(8, 2, 15, 1001)]),
        ("mlperf", mlperf_detail(), {"model": "m", "batch": 8, "processes": 2}, [(8, 2, 15, 1000.5)]),
        ("mlperf", MLPERF_SINGLE, {"model": "m"}, [(1, 1, 7.467881, 135.218002)]),
        ("openvino", OPENVINO, {}, [(1, 4, 11.4, 399.93)]),
        ("openvino", OPENVINO, {"latency": "avg"}, [(1, 4, 9.98, 399.93)]),
        ("openvino", OPENVINO_PYTHON, {"latency": "p50"}, [(1, 4, 9.9, 399.93)]),
        ("openvino", openvino_json(), {"latency": "p50"}, [(8, 2, 19.7, 799.87)]),
        ("openvino", openvino_json(percentile_boundary=95), {"latency": "p95"}, [(8, 2, 19.7, 799.87)]),
        ("onnxruntime", ONNXRUNTIME, {"model": "m", "batch": 1}, [(1, 1, 6.19517, 170.04)]),
        ("onnxruntime", ONNXRUNTIME, {"model": "m", "batch": 4, "latency": "avg"}, [(4, 1, 5.88053, 680.16)]),
        ("onnxruntime", ONNXRUNTIME.replace("run time: 5.88102", "run time: 1.96"), {"model": "m", "batch": 1,
         "processes": 3}, [(1, 3, 6.19517, 170.04)]),
    ],
)  # fmt: skip
def test_each_format_gives_its_operating_points(tool, text, facts, expected, tmp_path):
    assert points(tool, text, **facts) == expected
    write_profiles(profiles(tool, text, **facts)[0], tmp_path / "p.yaml")
    assert read_profiles(tmp_path / "p.yaml") == profiles(tool, text, **facts)[0]


def test_memory_is_read_where_it_is_told():
    ((profile,), _) = profiles("model-analyzer", MODEL_ANALYZER, MODEL_ANALYZER_GPU)
    assert [point.memory_mib for point in profile.points] == [None, 1000.0, None]
    ((profile,), _) = profiles("perf-analyzer", VERBOSE, **TRITON)
    assert profile.points[0].memory_mib == 2048


def test_latencies_of_whole_requests_are_added_up_from_vllms_lists():
    details = {"ttfts": [0.1, 0.2], "itls": [[0.5, 0.4], [0.8]]}
    text = vllm(mean_e2el_ms=None, median_e2el_ms=None, p99_e2el_ms=None, max_concurrency=4, **details)
    assert points("vllm", text, latency="avg") == [(4, 1, 1000, 4)]


def test_several_files_make_one_profile():
    assert points("vllm", vllm(), vllm(max_concurrency=16, p99_e2el_ms=4400.0, mean_e2el_ms=4000)) == [
        (8, 1, 2400, 4),
        (16, 1, 4400, 4),
    ]


def test_a_whole_gpu_is_a_share_of_100_percent():
    ((profile,), _) = profiles("vllm", vllm(), mig_profile=None, sm_percent=100)
    assert (profile.points[0].mig_profile, profile.points[0].sm_percent) == (None, 100)
    assert profile.basis("exclusive") == "measured"


def test_what_was_left_out_and_what_waited_is_said():
    _, notes = profiles("perf-analyzer", PERF_ANALYZER, **TRITON)
    assert notes == ("1 of 3 loads are taken, one for each operating point.",)
    _, notes = profiles("mlperf", MLPERF_SERVER, model="m", batch=8, processes=2)
    assert "1 of the latencies include waiting" in notes[0]


def test_everything_that_is_missing_is_asked_for_at_once():
    with pytest.raises(InputError) as caught:
        profiles("perf-analyzer", PERF_ANALYZER, gpu=None, mig_profile=None)
    text = str(caught.value)
    for option in ("--gpu", "--mig-profile", "--model", "--processes", "--batch"):
        assert f"{option}: is missing" in text
    assert "f0 line 2 and 2 more" in text


@pytest.mark.parametrize(
    ("tool", "text", "facts", "message"),
    [
        ("vllm", vllm(max_concurrency=None, request_rate=4.0), {}, "--batch: is missing"),
        ("vllm", vllm(), {"gpu": "A100"}, "--gpu: A100 is not in the catalogue. Did you mean"),
        ("vllm", vllm(), {"mig_profile": "3g.20gb"}, "is no MIG profile of A100-80GB. Did you mean '3g.40gb'"),
        ("vllm", vllm(), {"sm_percent": 100}, "is given beside --sm-percent"),
        ("vllm", vllm(), {"latency": "compute"}, "is not in f0 run 1; it has p99, p50, avg"),
        ("vllm", vllm(completed=195), {}, "completed 195 of 200 requests"),
        (
            "vllm",
            vllm(mean_e2el_ms=None, median_e2el_ms=None, p99_e2el_ms=None),
            {},
            "--percentile-metrics ttft,tpot,itl,e2el",
        ),
        ("vllm", vllm(request_throughput="inf"), {}, "request_throughput is 'inf'; expected a number above 0"),
        ("vllm", vllm() + "{", {}, "is not valid JSON"),
        ("vllm", "[1]", {}, "has no request_throughput"),
        ("vllm", vllm(mean_e2el_ms=2e6, median_e2el_ms=2e6, p99_e2el_ms=2e6), {}, "8e+03 in flight by Little's law"),
        ("vllm", vllm(mean_e2el_ms=2.0, median_e2el_ms=2.0, p99_e2el_ms=2.4), {}, "wrong by a factor of about 1000"),
        ("perf-analyzer", PERF_ANALYZER.replace("000,18800", "000000,18800"), TRITON, "980 in flight by Little's law"),
        ("perf-analyzer", "a,b\n1,2\n", TRITON, "is not the header of perf_analyzer's CSV"),
        ("perf-analyzer", PERF_ANALYZER + "1,2,3\n", TRITON, "line 5 has 3 cells; the header has 13"),
        ("perf-analyzer", VERBOSE.replace("GPU-1:2147483648;", "lots"), TRITON, "is 'lots'; expected uuid:value;"),
        ("model-analyzer", MODEL_ANALYZER_GPU, {}, "expected metrics-model-inference.csv"),
        (
            "model-analyzer",
            ONE_LOAD.replace("ocr,1,8", '"ocr,cls","1,1",8'),
            {},
            "is of several models at once (ocr,cls)",
        ),
        ("model-analyzer", ONE_LOAD.replace("2:GPU", "2:CPU"), {}, "line 2 runs on the CPU (2:CPU)"),
        ("model-analyzer", ONE_LOAD.replace("2:GPU", '"2:GPU,1:GPU"'), {}, "have different numbers of instances"),
        ("model-analyzer", ONE_LOAD.replace(",16,", ',"4,8",'), {}, "have different largest batches (4, 8)"),
        ("model-analyzer", MODEL_ANALYZER.replace("2:GPU", "1:GPU 1:CPU"), {}, "--processes: is missing"),
        ("model-analyzer", ONE_LOAD.replace("Max Batch Size", "Other"), {}, "the server formed larger batches"),
        (
            "model-analyzer",
            MODEL_ANALYZER.replace("p99 Latency (ms)", "p99 Latency (hours)"),
            {},
            "has the unit 'hours'",
        ),
        ("model-analyzer", MODEL_ANALYZER.replace("ocr,8", "cls,8"), {"model": "m"}, "cannot name 2 models at once"),
        ("genai-perf", GENAI_PERF, {"model": "m"}, "--batch: is missing"),
        (
            "genai-perf",
            GENAI_PERF.replace("Request Latency (ms)", "Request Latency"),
            {"model": "m"},
            "has the unit 'None'",
        ),
        (
            "genai-perf",
            GENAI_SWEEP.replace("32,200,100", "32,900,100"),
            {"model": "m"},
            "has 200, 900; a profile is for one",
        ),
        ("aiperf", metrics(was_cancelled=True), {}, "was cancelled"),
        ("aiperf", metrics(error_summary=[{"count": 3}]), {}, "had errors"),
        ("aiperf", metrics(unit="us"), {}, "wrong by a factor of about 1000"),
        ("aiperf", metrics() + metrics(), {}, "take profile_export_aiperf.json"),
        ("aiperf", "concurrency,request_throughput_avg_mean\n4,90\n", {}, "a sweep's has no units"),
        (
            "aiperf",
            sweep((4, 90, 50), (8, 120, 77)).replace("requests/sec", "x", 1),
            {"model": "m"},
            "has the unit 'x'",
        ),
        ("mlperf", MLPERF_SERVER.replace("VALID", "INVALID"), {}, "'INVALID'; only a VALID run is a measurement"),
        ("mlperf", MLPERF_SERVER.replace("Server", "Offline"), {}, "whose latency is not that of a batch"),
        ("mlperf", MLPERF_SERVER.replace("PerformanceOnly", "AccuracyOnly"), {}, "is of an accuracy run"),
        (
            "mlperf",
            MLPERF_ACCURACY,
            {},
            "has no figures, as the summary of an accuracy run; take that of a performance",
        ),
        ("mlperf", MLPERF_SERVER, {"model": "m"}, "--processes: is missing"),
        ("mlperf", mlperf_detail(result_validity="INVALID"), {}, "'INVALID'; only a VALID run"),
        ("mlperf", ":::MLLOG {", {}, "is no entry of loadgen's log"),
        ("mlperf", "Organization,Model,Result\nx,y,1\n", {}, "has no latencies; take mlperf_log_summary.txt"),
    ],
)
def test_what_is_no_measurement_is_refused_with_what_would_be(tool, text, facts, message):
    with pytest.raises(InputError) as caught:
        profiles(tool, text, **facts)
    assert message in str(caught.value)


def test_a_sweep_over_something_else_is_refused():
    two = json.loads(sweep((4, 90, 50), (8, 120, 77)))
    two["per_combination_metrics"][1]["parameters"]["isl"] = 200
    two["per_combination_metrics"][0]["parameters"]["isl"] = 100
    with pytest.raises(InputError, match="vary isl; a profile is for one: sweep concurrency alone"):
        profiles("aiperf", json.dumps(two), model="m")


def test_points_are_added_to_a_profile_but_none_is_overwritten():
    first, _ = profiles("vllm", vllm())
    other, _ = profiles("vllm", vllm(), mig_profile="7g.80gb")
    (both,) = with_more_points(first, other, "p.yaml")
    assert {point.mig_profile for point in both.points} == {"3g.40gb", "7g.80gb"}
    assert both.provenance.source == "vllm: f0; vllm: f0"
    with pytest.raises(InputError, match=r"m on A100-80GB has batch 8 with 1 process\(es\) on 3g.40gb already"):
        with_more_points([both], first, "p.yaml")
    fitted, _ = profiles("vllm", vllm(), model="resnet50")
    with pytest.raises(InputError, match="has fitted curves, beside which points cannot stand"):
        with_more_points(shipped_profiles(), fitted, "p.yaml")


@settings(max_examples=100, deadline=None)
@given(
    latency_ms=st.floats(0.1, 1e4),
    load=st.integers(1, 256),
    unit=st.sampled_from(["ms", "us", "ns", "s"]),
    wrong=st.sampled_from([1, 1000, 1_000_000]),
)
def test_a_wrong_unit_is_always_noticed(latency_ms, load, unit, wrong):
    """Property: a latency that is 1000 or more times too large or small never becomes a profile."""
    factor = {"ms": 1, "us": 1e3, "ns": 1e6, "s": 1e-3}[unit]
    config = {"concurrency": load, "model": "m"}
    text = metrics(latency=latency_ms * factor * wrong, rate=1000 * load / latency_ms, unit=unit, input_config=config)
    if wrong == 1:
        ((_, _, latency, _),) = points("aiperf", text, latency="avg")
        assert math.isclose(latency, latency_ms, rel_tol=1e-5, abs_tol=1e-6)
    else:
        with pytest.raises(InputError, match="by Little's law"):
            points("aiperf", text, latency="avg")


GOOD = {
    "perf-analyzer": (VERBOSE, TRITON),
    "model-analyzer": (MODEL_ANALYZER, {}),
    "genai-perf": (GENAI_SWEEP, {"model": "m"}),
    "aiperf": (sweep((4, 90, 50), (8, 120, 77)), {"model": "m"}),
    "vllm": (vllm(ttfts=[0.1], itls=[[0.2, 0.3]]), {}),
    "mlperf": (mlperf_detail(), {"model": "m", "batch": 8, "processes": 2}),
    "openvino": (openvino_json(), {"latency": "p50"}),
    "onnxruntime": (ONNXRUNTIME, {"model": "m", "batch": 8}),
}


@pytest.mark.parametrize("tool", GOOD)
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damage_is_refused_or_harmless(tool, data):
    """Property: whatever happened to a file, a reader raises InputError or returns valid profiles."""
    text, facts = GOOD[tool]
    with suppress(InputError):
        profiles(tool, data.draw(damaged(text)), **facts)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_damage_to_other_files_of_the_tools_is_refused_or_harmless(data):
    """Property: as above, of the forms that are read by the same reader."""
    texts = [
        ("genai-perf", GENAI_PERF),
        ("aiperf", metrics()),
        ("mlperf", MLPERF_SERVER),
        ("perf-analyzer", PERF_ANALYZER),
        ("openvino", OPENVINO),
    ]
    tool, text = data.draw(st.sampled_from(texts))
    with suppress(InputError):
        profiles(tool, data.draw(damaged(text)), model="m", batch=8, processes=1)
