"""The benchmark still runs; its times are nobody's business here."""

import subprocess
import sys

from instances import ROOT


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
