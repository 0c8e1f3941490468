"""Legends have room of their own, whatever the width is that a picture is drawn at later."""

import re
from collections import Counter

import pytest
from problems.instances import random_problem
from problems.shop import shop

from sliceplan.app.charts.fleet import fleet_chart
from sliceplan.app.charts.layouts import layout_chart
from sliceplan.app.charts.legends import LETTERS_IN_A_LINE, ROW_PX, Entry, legend_of, lines_of, room_px
from sliceplan.solver.api import solve
from sliceplan.solver.metrics.layouts import layouts


@pytest.fixture(scope="module")
def plan():
    return solve(shop())


def test_each_row_of_a_legend_has_its_height():
    assert [room_px(entries) - room_px(0) for entries in (1, 4, 5, 9)] == [ROW_PX, ROW_PX, 2 * ROW_PX, 3 * ROW_PX]


def test_the_picture_of_layouts_has_its_margins_and_a_legend_of_one_text_from_the_start(plan):
    figure = layout_chart(layouts(plan), layouts(plan))
    margin, names = figure.layout.margin, [line for name in figure.data[0].y for line in name.split("<br>")]
    assert not margin.autoexpand
    assert margin.l >= 6 * max(map(len, names))
    assert (figure.layout.showlegend, figure.layout.yaxis.automargin) == (False, None)
    (note,) = figure.layout.annotations
    assert margin.t >= ROW_PX
    for bar in figure.data:
        assert f'<span style="color:{bar.marker.color}">■</span> {bar.name}' in note.text


def test_a_long_name_of_a_layout_is_broken_at_a_plus_sign():
    long = "4g.40gb + 2g.20gb + 1g.10gb and so on + 1g.5gb"
    (name,) = layout_chart(Counter({("A100-80GB", long): 3}), Counter()).data[0].y
    assert name.replace("<br>", " ") == long
    assert max(map(len, name.split("<br>"))) < len(long)


def test_the_picture_of_gpus_has_its_legend_as_lines_of_text_in_its_lower_margin(plan):
    figure = fleet_chart(plan, shop())
    assert figure.layout.showlegend is False
    (text,) = [note.text for note in figure.layout.annotations]
    entries, foot_px = legend_of(figure)
    assert figure.layout.margin.b >= foot_px >= ROW_PX * len(text.split("<br>"))
    assert {one.name for one in entries} > {workload.name for workload in shop().workloads}
    for one in entries:
        assert f'<span style="color:{one.colour}">■</span> {one.name}' in text


def test_a_service_has_one_key_in_the_legend_and_on_its_bars(plan):
    figure = fleet_chart(plan, shop())
    keys = {one.name: one.key for one in legend_of(figure)[0] if one.key}
    assert keys == {one.name: str(number) for number, one in enumerate(shop().workloads, start=1)}
    assert {tuple(of) for of in figure.data[0].customdata} - {("", "")} == set(keys.items())
    assert lines_of([Entry("ads", "#000000", key="3")], with_keys=True)[0].endswith("</span> 3 ads   ")


def test_without_a_legend_of_services_nothing_has_a_key(plan):
    figure = fleet_chart(plan, shop(), colour_by="load")
    assert {key for _, key in figure.data[0].customdata} == {""}
    large = random_problem(30, 2)
    assert {key for _, key in fleet_chart(solve(large), large).data[0].customdata} == {""}


def test_lines_of_a_legend_are_not_longer_than_a_picture_and_names_are_no_commands():
    entries = [*(Entry(f"service-number-{i}", "#000000") for i in range(20)), Entry("<b>late", "#E03131", "□")]
    lines = lines_of(entries)
    plain = [re.sub("<span[^>]*>|</span>", "", line) for line in lines]
    assert max(map(len, plain)) <= LETTERS_IN_A_LINE + 5
    assert sum(line.count("service-number-") for line in plain) == 20
    assert lines[-1].endswith('<span style="color:#E03131">□</span> &lt;b&gt;late   ')
