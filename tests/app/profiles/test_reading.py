"""Profiles that somebody uploads or pastes: told apart by what they hold, and read as the command line reads them."""

import json

import pytest

from sliceplan.app.profiles.known import PROFILES, as_variable, known_profiles
from sliceplan.app.profiles.reading import Text, kind_of, of_load_test, read_profiles
from sliceplan.solver.formats.measurements.facts import Facts
from sliceplan.solver.formats.problem_files import dump_problem, example_problems
from sliceplan.solver.formats.profile_files import profiles_yaml, shipped_profiles, write_profiles
from sliceplan.solver.model.errors import InputError

PARVAGPU = "Mig instance,Batch size,Workload Number,Throughput,Latency\n1,4,1,100,0.04\n7,8,2,0,0\n2,8,2,120,0.06\n"

PERF_ANALYZER = (
    "Concurrency,Inferences/Second,Client Send,p50 latency,p90 latency,p95 latency,p99 latency\n"
    "1,70,220,14000,18800,19700,21000\n2,87,230,22900,28600,29800,34800\n"
)

VLLM = json.dumps(
    {
        "model_id": "chat",
        "num_prompts": 200,
        "completed": 200,
        "max_concurrency": 8,
        "request_throughput": 3.9,
        "p99_e2el_ms": 2300.0,
    }
)

OWN = shipped_profiles()[:2]


def test_files_of_profiles_and_of_problems_give_theirs():
    problem = example_problems()["demo"].model_copy(update={"profiles": tuple(OWN)})
    for text in (profiles_yaml(OWN), dump_problem(problem), problem.model_dump_json()):
        texts = [Text("some.file", text)]
        assert kind_of(texts) == ("profiles", "")
        assert read_profiles(texts, "profiles") == OWN


def test_files_of_parvagpu_are_a_model_each():
    texts = [Text("ours.csv", PARVAGPU), Text("theirs.csv", PARVAGPU)]
    assert kind_of(texts) == ("parvagpu", "")
    found = read_profiles(texts, "parvagpu")
    assert [(one.model, len(one.points)) for one in found] == [("ours", 2), ("theirs", 2)]
    with pytest.raises(InputError) as error:
        read_profiles([Text("ours.csv", PARVAGPU.replace("100,", "fast,"))], "parvagpu")
    (finding,) = error.value.findings
    assert (finding.source, finding.path) == ("ours.csv", "line 2")


@pytest.mark.parametrize(("text", "tool"), [(PERF_ANALYZER, "perf-analyzer"), (VLLM, "vllm")])
def test_results_of_load_testers_are_told_by_what_they_hold(text, tool):
    texts = [Text("out.txt", text)]
    assert kind_of(texts) == ("load test", tool)
    facts = Facts(
        gpu="A100-80GB", mig_profile="2g.20gb", model="ours" if tool != "vllm" else None, batch=8, processes=1
    )
    (profile,), _ = of_load_test(texts, tool, facts)
    assert profile.model == ("chat" if tool == "vllm" else "ours")
    assert {point.mig_profile for point in profile.points} == {"2g.20gb"}


def test_artifacts_in_json_lines_are_told_by_their_sections():
    assert kind_of([Text("a.jsonl", '{"hardware": {"idlepower": 1}}\n{"ours": {"kernel": 3}}\n')]) == ("igniter", "")
    assert kind_of([Text("a.jsonl", '{"interference": {"latency": []}}\n')]) == ("gpulets", "")
    assert kind_of([Text("a.csv", "model,batch,ms\nours,1,2\n")]) == ("table", "")


def test_the_page_knows_the_profiles_that_it_was_started_with(tmp_path, monkeypatch):
    ours = [profile.model_copy(update={"model": "ours"}) for profile in OWN[:1]]
    write_profiles(ours, tmp_path / "ours.yaml")
    assert known_profiles() == shipped_profiles()
    monkeypatch.setenv(PROFILES, as_variable([tmp_path / "ours.yaml"]))
    assert known_profiles() == [*shipped_profiles(), *ours]
