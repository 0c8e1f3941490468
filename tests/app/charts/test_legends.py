"""Legends have room of their own, whatever the width is that a picture is drawn at later."""

import pytest
from problems.shop import shop

from sliceplan.app.charts.fleet import fleet_chart
from sliceplan.app.charts.layouts import layout_chart
from sliceplan.app.charts.legends import ROW_PX, room_px
from sliceplan.solver.api import solve


@pytest.fixture(scope="module")
def plan():
    return solve(shop())


def test_each_row_of_a_legend_has_its_height():
    assert [room_px(entries) - room_px(0) for entries in (1, 4, 5, 9)] == [ROW_PX, ROW_PX, 2 * ROW_PX, 3 * ROW_PX]


def test_pictures_keep_room_for_all_entries_beside_their_bars(plan):
    fleet, layouts = fleet_chart(plan, shop()), layout_chart(plan, plan)
    for figure, in_a_row, end in ((fleet, 4, "bottom"), (layouts, 1, "top")):
        named = [trace for trace in figure.data if trace.showlegend is not False]
        margin = figure.layout.margin
        assert (margin.t if end == "top" else margin.b) >= room_px(len(named), in_a_row)
        legend = figure.layout.legend
        assert (legend.yref, legend.yanchor, legend.y) == ("container", end, float(end == "top"))
