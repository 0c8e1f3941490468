"""The table of a comparison on a terminal of 80 columns."""

from problems.instances import ROOT
from rich.console import Console

from sliceplan.solver import api
from sliceplan.solver.commands.terminal import compare_table
from sliceplan.solver.formats.problem_files import read_problem


def test_of_all_columns_only_the_planners_give_way():
    names = ["exact", "ffd", "igniter", "ffd-interference-least-batch"]
    comparison = api.compare(read_problem(ROOT / "plans" / "igniter.yaml"), names)
    console = Console(width=80, record=True)
    with console.capture() as captured:
        console.print(compare_table(comparison))
    text = captured.get()
    assert "…" not in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert all(f"${plan.cost_per_hour:.2f}" in text for plan in comparison.plans if plan.gpus)
    assert "9 miss, +10%" in text
