"""
The benchmarks run from what is shipped, in a copy of the repository with nothing beside it; times are not looked at.

So does whoever has just cloned it: no published data, no variable that names any.
"""

import json
import os
import shutil
import subprocess
import sys
from random import Random

import numpy as np
import pytest
from benchmarks.hindsight import Knowing, in_hindsight
from problems.instances import ROOT
from problems.layer_chains import random_chain
from support.chromium import CHROMIUM
from support.command_line import call_script
from support.needs import BROWSER, skip_without

from sliceplan.solver.cores.quotas import quotas_of
from sliceplan.solver.cores.runtimes.between_layers import run_between_layers
from sliceplan.solver.cores.runtimes.timetable import CLOCK_MS, Machine, Timetable, Trace


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """The tests and plans of a fresh clone; the package is the installed one."""
    root = tmp_path_factory.mktemp("alone") / "clone"
    shutil.copytree(ROOT / "plans", root / "plans")
    shutil.copytree(
        ROOT / "tests", root / "tests", ignore=shutil.ignore_patterns("__pycache__", "screenshots", "golden", "agent")
    )
    return root


@pytest.fixture
def benchmark(clone):
    """Returns a function that runs a benchmark in the clone and gives the lines that it prints."""
    variables = {name: value for name, value in os.environ.items() if name != "SLICEPLAN_REFERENCE"}

    def run(name, *options):
        done = call_script(f"tests/benchmarks/{name}.py", *options, folder=clone, env=variables)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        first, *lines = done.stdout.splitlines()
        assert first.startswith("Ran on ")
        assert "profiles: fitted, as shipped" in first
        return [first, *lines]

    return run


def rows(lines):
    """Returns the cells of a Markdown table's rows."""
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")]
    return table[2:]


def test_growth_prints_a_row_for_each_planner(benchmark):
    lines = benchmark("growth", "--most", 10, "--seeds", 1, "--planner", "exact", "--planner", "parvagpu")
    assert "random services of the shipped models" in lines[0]
    assert [row[1] for row in rows(lines)] == ["exact", "parvagpu"]


def test_growth_leaves_out_the_planner_whose_tables_are_not_there_and_says_so(benchmark):
    lines = benchmark("growth", "--family", "mps", "--most", 10, "--seeds", 1)
    assert "without gpulets-igniter" in lines[0]
    planners = [row[1] for row in rows(lines)]
    assert "igniter" in planners
    assert "gpulets-igniter" not in planners


def test_growth_draws_the_times_of_mps_planners(benchmark, tmp_path):
    if CHROMIUM is None:
        skip_without(BROWSER)
    plot = tmp_path / "growth.svg"
    planners = ["--planner", "igniter", "--planner", "ffd"]
    lines = benchmark("growth", "--family", "mps-table", "--most", 10, "--seeds", 1, "--plot", plot, *planners)
    assert "the services of iGniter's table 3" in lines[0]
    assert plot.read_text().startswith("<svg")
    assert "igniter" in plot.read_text()


def test_many_turns_says_what_turns_save(benchmark):
    lines = benchmark("many_turns", "--sizes", 8, "--seeds", 1)
    ((count, _, gpus, least, above, _, alone),) = rows(lines)
    assert (count, gpus, least, above) == ("8", "1", "1", "0.0%")
    assert int(alone) == 2


def test_turns_enumerated_finds_no_bound_above_the_optimum():
    command = [sys.executable, "tests/benchmarks/turns_enumerated.py", "--seeds", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert [row[-1] for row in rows(done.stdout.splitlines())] == ["0"] * 4


def test_mps_gap_prints_a_row_for_each_family(benchmark):
    families = ("v100", "drawn")
    chosen = [word for family in families for word in ("--family", family)]
    lines = benchmark("mps_gap", "--size", 4, "--seeds", 1, "--cpu", *chosen)
    assert [row[:3] for row in rows(lines)] == [[family, "4", "1 of 1"] for family in families]


def test_mps_gap_measures_services_beside_others_that_partitions_serve(benchmark):
    lines = benchmark("mps_gap", "--size", 10, "--seeds", 1, "--cpu", "--beside-mig", "--family", "v100")
    assert [row[:3] for row in rows(lines)] == [["v100", "10", "1 of 1"]]


def test_mps_capacity_prints_a_row_for_each_number_of_replicas(benchmark):
    lines = benchmark("mps_capacity", "--size", "2:1", "--time-limit", 1, "--cpu")
    assert [row[:4] for row in rows(lines)] == [["2", "1", "1", "1"], ["2", "1", "any", "1"]]


def test_scale_measures_both_exact_methods_in_the_same_run(benchmark):
    methods = ("slice prices", "whole program")
    lines = benchmark("scale", "--most", 10, *(word for method in methods for word in ("--method", method)))
    assert "plans/parvagpu-s1.yaml to -s6.yaml" in lines[0]
    found = rows(lines)
    assert [row[1] for row in found] == list(methods)
    assert found[0][4] == found[1][4]
    assert found[0][5] == "0.000%"


def test_mixed_cpus_says_that_its_measurements_are_synthetic_and_what_cpus_save(benchmark):
    lines = benchmark("mixed_cpus", "--size", 4, "--seeds", 1, "--cores", "4,8")
    assert "synthetic CPU measurements" in lines[0]
    assert [row[:3] for row in rows(lines)] == [["4", "0.000%", "0.000%"]]


def test_mixed_cpus_says_what_each_cpu_saves_on_the_demo(benchmark):
    lines = benchmark("mixed_cpus", "--demo")
    found = rows(lines)
    assert {row[0] for row in found} >= {"Graviton2", "Graviton3", "Graviton4"}
    assert {row[3] for row in found} == {"optimal"}


def test_transitions_plans_a_pair_and_a_large_one_from_the_shipped_scenarios(benchmark):
    lines = benchmark("transitions", "--pairs", 1, "--gpus", 1, "--replan", 3)
    assert "plans/parvagpu-s1.yaml" in lines[0]
    assert any("1 pairs; refuted by the replay: 0" in line for line in lines)


def test_jobs_waits_for_fewer_points_than_it_names(benchmark):
    lines = benchmark("jobs", "--users", 1, "--services", 2, "--points", 3)
    assert any(line.startswith("warm: first point") and "the last of 3" in line for line in lines)
    assert lines[-1].strip() == "0 errors"


def test_users_get_their_plan(benchmark):
    assert benchmark("users", "--users", 1, "--services", 2)[-1].endswith("1 of 1 users have their plan; 0 errors")


@pytest.mark.browser
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("page", ("--gpus", 1, "--services", 3, "--repeats", 1, "--plans", 0)),
        ("page_what_if", ("--services", 50, "--moves", 1, "--points", 12)),
    ],
)
def test_the_page_is_measured_in_a_browser(benchmark, name, options):
    if CHROMIUM is None:
        skip_without(BROWSER)
    assert "the click" in benchmark(name, *options)[-1]


def test_schedulers_are_compared_under_interference(clone, tmp_path):
    layers = [{"name": "l", "macs": 1, "ms": [4, 2.5]}] * 3
    model = {"model": "m", "cores": [8, 16], "layers": layers, "provenance": {"source": "made up", "method": "none"}}
    (tmp_path / "layers.json").write_text(json.dumps({"version": 1, "models": [model]}))
    options = ("--model", "m", "--queries", 20, "--seeds", 1, "--slo-ms", 40, "--full-level", 2)
    command = [sys.executable, "tests/benchmarks/cores_under_interference.py", tmp_path / "layers.json", *options]
    done = subprocess.run(map(str, command), cwd=clone, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("Ran on "), done.stderr
    assert "versions and levels: synthetic" in done.stdout
    assert [row[0] for row in rows(done.stdout.splitlines())] == [
        f"`{family}`, 2, 40" for family in ("steep", "even", "flat")
    ]


@pytest.mark.parametrize("name", ["page", "growth"])
def test_without_a_browser_a_sentence_says_what_to_install(clone, name, tmp_path):
    done = subprocess.run(
        [sys.executable, f"tests/benchmarks/{name}.py", *(["--plot", tmp_path / "a.svg"] if name == "growth" else [])],
        cwd=clone,
        env={**os.environ, "PATH": "/nonexistent"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "There is no chromium on this machine; `sh .ci/test` installs it.\n"


def test_certificates_print_a_row_for_each_planner(benchmark):
    lines = benchmark("certificates", "plans/demo.yaml", "--requests", 1000)
    assert [row[1] for row in rows(lines)] == ["`exact`", "`parvagpu`"]
    assert {row[3] for row in rows(lines)} == {"8"}


def test_routers_print_a_row_for_each_rule_that_plans_are_made_for(benchmark):
    lines = benchmark("routers", "--size", 3, "--draws", 1, "--family", "tight", "--requests", 1000)
    assert [row[0] for row in rows(lines)] == [
        *("`execution`", "`weighted_round_robin`", "`random`", "`least_expected`", "`central`")
    ]
    assert [row[2] for row in rows(lines)] == ["", "3", "3", "3", "3"]


def test_other_simulators_are_left_out_where_they_are_not_installed(benchmark):
    """Whether they are or not, our own rows are there."""
    lines = benchmark("simulators", "--requests", 2000, "--services", 2)
    assert {row[1] for row in rows(lines)} >= {"sliceplan", "sliceplan, 2 services", "SimPy"}


def test_columns_print_a_row_for_each_size(benchmark):
    lines = benchmark("inss_columns", "--sizes", "14:3", "--seeds", 1, "--seconds", 0.2)
    assert [row[:3] for row in rows(lines)] == [["14", "6", "0"]]


def test_what_stands_between_schedulers_and_the_bound_is_said_by_family(clone, tmp_path):
    layers = [{"name": "l", "macs": 1, "ms": [4, 2.5]}] * 3
    of = {
        "model": "resnet50",
        "cores": [8, 16],
        "layers": layers,
        "provenance": {"source": "made up", "method": "none"},
    }
    (tmp_path / "layers.json").write_text(json.dumps({"version": 1, "models": [of]}))
    options = ("--queries", 40, "--seeds", 1, "--family", "20 ms")
    command = [sys.executable, "tests/benchmarks/cores_between.py", tmp_path / "layers.json", *options]
    done = subprocess.run(map(str, command), cwd=clone, capture_output=True, text=True, check=False)
    first, second = done.stdout.split("\n\n")[-2:]
    ((name, *late),) = rows(first.splitlines())
    as_is, free, scaling, known, both, all_three = map(float, late)
    assert as_is >= known >= 5
    assert min(free, scaling, both) >= all_three >= 5
    ((same_name, *rates),) = rows(second.splitlines())
    bound, ours, planaria, veltair, *spent = map(float, rates)
    assert name == same_name == "ResNet-50, 20 ms"
    assert bound >= max(ours, planaria, veltair)
    assert len(spent) == 5


def test_hindsight_is_what_carrying_all_out_again_gives():
    random = np.random.default_rng(5)
    chains = [random_chain(Random(seed), layers=4, counts=8, unit=8, most_us=4000) for seed in (1, 2)]
    tables, machine = [Timetable(quotas_of(chain, 20.0)) for chain in chains], Machine(64, 0.22)

    def late_of(trace, given_up):
        ends = run_between_layers(tables, trace, machine, Knowing(given_up))
        return sum(end > came + 20.0 + CLOCK_MS for end, came in zip(ends, trace.arrivals_ms, strict=True))

    helped = 0
    for rate in (300, 700, 1200):
        arrivals = np.sort(random.uniform(0, 60_000 / rate, 60)).tolist()
        trace = Trace(arrivals, random.integers(0, 2, 60).tolist())
        late, given_up = in_hindsight(tables, trace, machine)
        by_hand = [late_of(trace, given_up | more) for more in (set(), *({one} for one in range(60)))]
        assert late == by_hand[0] == min(by_hand)
        helped += late_of(trace, frozenset()) - late
    assert helped > 0
