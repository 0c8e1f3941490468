"""Files of load testers in which some of what they hold can become a profile: that is taken, the rest is named."""

import json
import math
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from stand_ins.load_tests import MLPERF_ACCURACY, MLPERF_SERVER, MODEL_ANALYZER, PERF_ANALYZER, mlperf_detail, vllm

from sliceplan.solver.formats.measurements.facts import Facts
from sliceplan.solver.formats.measurements.profiles import measured_profiles
from sliceplan.solver.formats.measurements.registry import TOOLS
from sliceplan.solver.formats.measurements.sample import SourceText
from sliceplan.solver.model.errors import InputError

HEADER = MODEL_ANALYZER.splitlines()[0]


def profiles(tool, *texts, **facts):
    """Returns profiles and notes of files on a 3g.40gb of an A100-80GB."""
    files = [SourceText(f"f{number}", text) for number, text in enumerate(texts)]
    wanted = {"gpu": "A100-80GB", "mig_profile": "3g.40gb", **facts}
    return measured_profiles(TOOLS[tool].read(files), Facts(**wanted), tool)


@st.composite
def ensemble_rows(draw):
    """
    Draws a row of Model Analyzer's table: of one model or an ensemble, on GPU or CPU, or of several models at once.

    Returns the row and its operating point and throughput (batch, processes, requests/s), or None where it has none.
    """
    models = draw(st.integers(1, 3))
    instances = draw(st.one_of(st.lists(st.integers(1, 4), min_size=models, max_size=models), st.just([2] * models)))
    devices = draw(st.sampled_from([["GPU"] * models, ["CPU"] * models, ["GPU"] * models]))
    largest = draw(st.sampled_from([[0] * models, [8] * models, list(range(4, 4 + models))]))
    several = draw(st.booleans()) and draw(st.booleans())
    name, batch = ("a,b", "1,1") if several else ("net", "1")
    groups = ",".join(f"{count}:{device}" for count, device in zip(instances, devices, strict=True))
    processes = sum(instances)
    rate = float(draw(st.integers(1, 900)))
    cells = [name, batch, processes, "net_config_1: a, b", groups, ",".join(map(str, largest)), "Yes", rate]
    latency = round(1000 * processes / rate, 4)
    row = ",".join(f'"{cell}"' for cell in (*cells, latency))
    fits = not several and devices[0] == "GPU" and len(set(instances)) == 1 and len(set(largest)) == 1
    return row, (1, processes, rate) if fits else None


@settings(max_examples=150, deadline=None)
@given(st.lists(ensemble_rows(), min_size=1, max_size=8))
def test_each_row_of_model_analyzer_is_taken_or_named(rows):
    """Property: the points are those of the rows of one service on the GPU, and every other row is in a note."""
    text = "\n".join([HEADER, *(row for row, _ in rows)])
    wanted = [point for _, point in rows if point is not None]
    if not wanted:
        with pytest.raises(InputError, match=r"several models|on the CPU|different"):
            profiles("model-analyzer", text)
        return
    ((profile,), notes) = profiles("model-analyzer", text)
    rates = {}
    for batch, processes, rate in wanted:
        rates[batch, processes] = min(rate, rates.get((batch, processes), math.inf))
    assert {(one.batch, one.processes): one.throughput_rps for one in profile.points} == rates
    left = [match for note in notes if (match := re.match(r"Left out: f0 line \d+(?: and (\d+) more)?: ", note))]
    named = sum(1 + int(match[1] or 0) for match in left)
    assert named == len(rows) - len(wanted)


def test_an_ensembles_processes_are_the_instances_of_all_its_models_and_the_profile_says_so():
    row = '\nnet,1,2,"net_config_0: a_config_0, b_config_0","1:GPU,1:GPU","0,0",Yes,1800,1.0\n'
    ((profile,), notes) = profiles("model-analyzer", HEADER + row)
    assert [(one.batch, one.processes, one.latency_ms) for one in profile.points] == [(1, 2, 1.0)]
    remark = "it is an ensemble, whose processes are the instances of all its models together"
    assert f"Of 1 point: {remark}." in notes
    assert profile.provenance.method.endswith(f"I{remark[1:]}.")


@settings(max_examples=100, deadline=None)
@given(
    first=st.lists(st.floats(1, 5000), min_size=1, max_size=20),
    token=st.floats(0.1, 100),
    tokens=st.integers(2, 4000),
)
def test_the_mean_latency_of_vllms_default_run_is_that_of_its_requests(first, token, tokens):
    """Property: with answers of one length the computed mean is the mean of the requests' own latencies."""
    spread = [token * (1 + 0.3 * math.sin(number)) for number in range(len(first))]
    whole = [start + each * (tokens - 1) for start, each in zip(first, spread, strict=True)]
    mean = math.fsum(whole) / len(whole)
    assume(mean > 1)
    text = vllm(
        num_prompts=len(first),
        completed=len(first),
        request_throughput=8000 / mean,
        mean_e2el_ms=None,
        median_e2el_ms=None,
        p99_e2el_ms=None,
        mean_ttft_ms=math.fsum(first) / len(first),
        mean_tpot_ms=math.fsum(spread) / len(spread),
        p99_ttft_ms=max(first),
        total_output_tokens=tokens * len(first),
    )
    ((profile,), notes) = profiles("vllm", text, latency="avg")
    assert math.isclose(profile.points[0].latency_ms, mean, rel_tol=1e-6)
    assert any("is computed from their mean times to the first token" in note for note in notes)
    assert "is computed from their mean times" in profile.provenance.method
    with pytest.raises(
        InputError, match=r"p99 is not in f0 run 1; it has avg \(the latency of whole requests is computed"
    ):
        profiles("vllm", text)


def test_an_answer_of_one_token_takes_as_long_as_that_token():
    means = {"mean_ttft_ms": 50, "mean_tpot_ms": 3, "total_output_tokens": 200, "request_throughput": 160}
    text = vllm(mean_e2el_ms=None, median_e2el_ms=None, p99_e2el_ms=None, **means)
    assert profiles("vllm", text, latency="avg")[0][0].points[0].latency_ms == 50


@settings(max_examples=60, deadline=None)
@given(st.permutations(["performance", "accuracy", "accuracy mode", "offline"]), st.integers(1, 4))
def test_of_mlperfs_logs_those_of_performance_runs_are_taken(kinds, count):
    """Property: in any order, runs without a latency of a batch are named and the others taken."""
    texts = {
        "performance": MLPERF_SERVER,
        "accuracy": MLPERF_ACCURACY,
        "accuracy mode": mlperf_detail(effective_test_mode="AccuracyOnly"),
        "offline": MLPERF_SERVER.replace("Server", "Offline"),
    }
    given_kinds = kinds[:count]
    facts = {"model": "m", "batch": 8, "processes": 2}
    if "performance" not in given_kinds:
        with pytest.raises(InputError, match=r"accuracy run|scenario 'Offline'") as caught:
            profiles("mlperf", *(texts[kind] for kind in given_kinds), **facts)
        assert len(caught.value.findings) == count
        return
    ((profile,), notes) = profiles("mlperf", *(texts[kind] for kind in given_kinds), **facts)
    assert [(one.batch, one.latency_ms) for one in profile.points] == [(8, 15)]
    left = [note for note in notes if note.startswith("Left out: ")]
    assert sum("and 1 more" in note for note in left) + len(left) == count - 1
    assert profile.provenance.source == f"mlperf: f{given_kinds.index('performance')}"


@pytest.mark.parametrize(
    ("tool", "text", "facts"),
    [
        ("perf-analyzer", PERF_ANALYZER, {"model": "ocr", "batch": 1, "processes": 1}),
        ("model-analyzer", MODEL_ANALYZER, {}),
        ("vllm", vllm(), {}),
        ("mlperf", MLPERF_SERVER, {"model": "m", "batch": 8, "processes": 2}),
    ],
)
@pytest.mark.parametrize(
    "prompt", ["$ cat result", "[ops@node-1 ~]$ cat result", "root@gpu:/data# cat result", "(venv) ~/runs > cat r"]
)
def test_a_prompt_around_a_file_changes_nothing(tool, text, facts, prompt):
    assert profiles(tool, f"{prompt}\n{text.rstrip()}\n{prompt.rpartition(' cat')[0]} \n", **facts) == profiles(
        tool, text, **facts
    )


def test_a_file_whose_lines_only_look_like_prompts_is_read_whole():
    run = json.loads(vllm())
    text = json.dumps({**run, "note": "$5 > $4", "model_id": "~/models/m"}, indent=1)
    assert profiles("vllm", text)[0][0].model == "~/models/m"
