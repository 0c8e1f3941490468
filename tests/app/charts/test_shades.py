"""What a fleet's picture is coloured by."""

import pytest

from sliceplan.app.charts.fleet import fleet_chart
from sliceplan.app.charts.fleet_blocks import blocks_of
from sliceplan.app.charts.legends import legend_of
from sliceplan.app.charts.shades import COLOUR_BY, shades
from sliceplan.solver.api import solve
from sliceplan.solver.formats.problem_files import example_problems

MIXED = example_problems()["mixed"]


@pytest.fixture(scope="module")
def plan():
    return solve(MIXED)


@pytest.fixture(scope="module")
def serving(plan):
    return [block for block in blocks_of(plan, MIXED) if block.workload is not None]


@pytest.mark.parametrize("by", [by for by in COLOUR_BY if by != "service"])
def test_every_block_has_a_colour_that_the_legend_explains(by, plan, serving):
    shade = shades(MIXED, plan, by)
    used = {shade.of(block) for block in serving}
    figure = fleet_chart(plan, MIXED, colour_by=by)
    assert used <= {one.name for one in legend_of(figure)[0]} <= set(shade.colours) | {"free", "out of reach"}
    assert {shade.colours[name] for name in used} <= set(figure.data[0].marker.color)


def test_loads_stand_in_their_step(plan, serving):
    shade = shades(MIXED, plan, "load")
    for block in serving:
        load = max(one.rate_rps / one.carries_rps for one in block.partition.serves)
        over = load > 0.95
        assert (shade.of(block) == "over 95% loaded") == over


def test_a_service_that_is_late_is_the_greatest_risk(plan, serving):
    block = serving[0].__class__(**{**vars(serving[0]), "misses": True})
    assert shades(MIXED, plan, "risk").of(block) == "misses its SLO"
