"""Rates beside what partitions carry: the bars add up, and who fails first is who a growing rate breaks."""

import pytest
from problems.instances import problem_of

from sliceplan.app.charts.service_loads import fullest_first, grows_least, load_chart
from sliceplan.solver.api import solve
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.metrics.service_figures import service_figures

WORKLOADS = (
    {"name": "a", "model": "resnet50", "rate_rps": 400, "slo_ms": 100},
    {"name": "b", "model": "bert", "rate_rps": 60, "slo_ms": 500},
)


@pytest.mark.parametrize("headroom", [0.0, 0.25])
def test_bars_fill_what_partitions_carry_and_name_both_figures(headroom):
    problem = problem_of(WORKLOADS, headroom=headroom)
    figures = fullest_first(service_figures(problem, solve(problem)))
    figure = load_chart(figures, headroom)
    assert [bar.name for bar in figure.data] == (["rate", "headroom", "spare"] if headroom else ["rate", "spare"])
    for i, one in enumerate(figures):
        assert sum(bar.x[i] for bar in figure.data) == pytest.approx(100)
        rate = next(workload["rate_rps"] for workload in WORKLOADS if workload["name"] == one.name)
        assert figure.data[0].x[i] == pytest.approx(100 * rate / one.capacity_rps)
        assert figure.layout.yaxis.ticktext[i] == f"{one.name}, {rate:,.0f} of {one.capacity_rps:,.0f}"
    assert [one.load for one in figures] == sorted((one.load for one in figures), reverse=True)


def test_who_fails_first_is_who_a_growing_rate_breaks():
    problem = problem_of(WORKLOADS, headroom=0.1)
    plan = solve(problem)
    one, growth = grows_least(service_figures(problem, plan), 0.1)
    carried = {"a": 0.0, "b": 0.0}
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            for served in partition.serves:
                carried[served.workload] += served.carries_rps
    bears = {workload["name"]: carried[workload["name"]] / workload["rate_rps"] - 1 for workload in WORKLOADS}
    assert (one.name, growth) == (min(bears, key=bears.get), pytest.approx(min(bears.values())))
    assert grows_least([], 0.1) is None


def test_a_rate_that_is_not_carried_passes_the_line_in_red():
    problem = example_problems()["igniter"]
    figures = fullest_first(service_figures(problem, solve(problem)))
    short = [figures[0].__class__(**{**vars(figures[0]), "capacity_rps": figures[0].required_rps / 2}), *figures[1:]]
    figure = load_chart(short, problem.settings.headroom)
    assert figure.data[0].x[0] == pytest.approx(200 / (1 + problem.settings.headroom))
    assert [width > 0 for width in figure.data[0].marker.line.width] == [True] + [False] * (len(short) - 1)
    assert grows_least(short, problem.settings.headroom)[1] < 0
