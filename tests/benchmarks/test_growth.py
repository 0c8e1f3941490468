"""The benchmark still runs; its times are nobody's business here."""

import subprocess
import sys

from instances import ROOT, published_scenario


def test_the_growth_benchmark_draws_the_times_of_mps_planners(tmp_path):
    script, plot = ROOT / "tests" / "benchmarks" / "growth.py", tmp_path / "growth.svg"
    options = ["--family", "mps-table", "--most", "30", "--seeds", "1", "--plot", str(plot)]
    planners = ["--planner", "igniter", "--planner", "ffd"]
    subprocess.run([sys.executable, str(script), *options, *planners], capture_output=True, text=True, check=True)
    assert plot.read_text().startswith("<svg")
    assert "igniter" in plot.read_text()


def test_the_growth_benchmark_prints_a_row_for_each_planner():
    script = ROOT / "tests" / "benchmarks" / "growth.py"
    command = [
        sys.executable,
        str(script),
        "--most",
        "10",
        "--seeds",
        "1",
        "--planner",
        "exact",
        "--planner",
        "parvagpu",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split("|")[2].strip() for line in done.stdout.splitlines()[2:]]
    assert rows == ["exact", "parvagpu"]


def test_the_scale_benchmark_measures_both_exact_methods_in_the_same_run():
    published_scenario(1)  # skips where the published scenarios are not there
    script = ROOT / "tests" / "benchmarks" / "scale.py"
    options = ["--most", "10", "--method", "slice prices", "--method", "whole program", "--method", "parvagpu"]
    done = subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True, check=True)
    rows = [line.split("|")[1:] for line in done.stdout.splitlines()[2:]]
    assert [row[1].strip() for row in rows] == ["slice prices", "whole program", "parvagpu"]
    assert rows[0][4] == rows[1][4]
    assert rows[0][5].strip() == "0.000%"
