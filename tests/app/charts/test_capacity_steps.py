"""Capacity by service over a transition, against the steps walked through one event at a time."""

import pytest
from problems.shop import shop, shop_plan

from sliceplan.app.charts.capacity_steps import capacities, capacity_chart
from sliceplan.app.charts.legends import legend_of
from sliceplan.app.jobs.moves import MoveOptions, plan_moves
from sliceplan.solver.api import solve
from sliceplan.solver.model.what_if import WhatIf
from sliceplan.solver.what_if.changes import applied

GROWN = applied(shop(), WhatIf(rates={"style-match": 400, "video-thumbs": 2600}))
MOVES = plan_moves(shop_plan(), solve(GROWN), MoveOptions())
LINES = capacities(MOVES.transition, MOVES.old, MOVES.assigned)


def capacity_of(plan, service):
    return sum(
        one.carries_rps
        for gpu in plan.gpus
        for part in gpu.partitions
        for one in part.serves
        if one.workload == service
    )


def test_every_service_that_changes_has_a_line_that_ends_with_the_next_plan():
    changed = {name for step in MOVES.transition.steps for name in step.capacity_rps or {}}
    assert {one.service for one in LINES} == changed
    for one in LINES:
        assert one.capacity_rps[-1] == pytest.approx(capacity_of(MOVES.assigned, one.service))
        assert list(one.at_s) == sorted(one.at_s)
        assert (one.at_s[0], one.at_s[-1]) == (0.0, MOVES.transition.estimated_s)


def test_between_them_a_line_is_what_has_been_redirected_by_then():
    for one in LINES:
        for at_s, capacity in zip(one.at_s[:-1], one.capacity_rps[:-1], strict=True):
            now = capacity_of(MOVES.old, one.service)
            for step in MOVES.transition.steps:
                gained = (step.capacity_rps or {}).get(one.service, 0.0)
                now += gained if (step.ends_s if gained > 0 else step.starts_s) <= at_s else 0.0
            assert capacity == pytest.approx(now)


def test_who_falls_short_is_below_the_line_and_first():
    short = {one.workload for one in MOVES.transition.shortfalls if one.from_s is not None}
    below = {one.service for one in LINES if one.least < 1 - 1e-6}
    assert below == short
    assert [one.least for one in LINES] == sorted(one.least for one in LINES)


def test_the_chart_has_the_rate_as_a_line_and_a_line_for_each_service():
    figure = capacity_chart(LINES, {}, MOVES.transition)
    assert figure.data[-1].name == "the rate"
    assert set(figure.data[-1].y) == {1}
    assert [trace.name for trace in figure.data[:-1]] == [one.service for one in LINES][:8]
    assert all(trace.line.shape == "hv" for trace in figure.data[:-1])
    assert 1 < figure.layout.yaxis.range[1] <= 2.5
    # The page shows what is above the legend, and half of a figure is below the axis.
    assert figure.layout.margin.b - legend_of(figure)[1] >= 10
