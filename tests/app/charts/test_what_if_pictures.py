"""The pictures and tables of the screen What-if, as pure functions of the library's records."""

import pandas as pd
import pytest

from sliceplan.app.charts.fleet_mix import mix_chart
from sliceplan.app.charts.layouts import MOST_ROWS, layout_chart
from sliceplan.app.charts.sweep_curve import sweep_chart
from sliceplan.app.charts.tornado import tornado_chart
from sliceplan.app.tables.what_if import candidate_table, candidates, mix_table, moved_table, step_table
from sliceplan.solver import api
from sliceplan.solver.differences.plans import difference
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.metrics.layouts import layouts
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.objective import CAPACITY
from sliceplan.solver.model.sweep_report import (
    Axis,
    CostStep,
    FleetMix,
    Sensitivity,
    SingleType,
    SweepPoint,
    SweepReport,
)
from sliceplan.solver.model.what_if import WhatIf
from sliceplan.solver.what_if.changes import applied

DEMO = example_problems()["demo"]
RATE = Axis(kind="rate", values=(1.0, 1.5, 2.0))
SLO = Axis(kind="slo", of="search", values=(50.0, 100.0))


def point(index, values, cost, **more):
    known = {"status": "optimal", "reason": None, "stopped": "proved", "gap": 0.0, "gpus": {"T4": 1}, "runtime_s": 0.1}
    known |= {"cost_per_hour": cost, "bound_per_hour": cost}
    return SweepPoint(index=index, values=values, **(known | more))


CURVE = (
    point((0,), (1.0,), 3.0),
    point((1,), (1.5,), 5.0, bound_per_hour=4.5, gap=0.1, status="feasible"),
    point((2,), (2.0,), None, status="infeasible", reason="search: too fast", gap=None, gpus={}),
)
STEP = CostStep(
    cheaper=(0,), dearer=(1,), added_per_hour=2.0, gpus={"T4": 1}, cause="alone", services=("search",), proven=True
)


@pytest.fixture(scope="module")
def plans():
    doubled = applied(DEMO, WhatIf(rate=2))
    base = api.solve(DEMO, profiles=shipped_profiles())
    return base, api.solve(doubled, profiles=shipped_profiles(), start=base)


def test_every_gpu_is_in_the_picture_of_layouts(plans):
    base, doubled = plans
    assert layouts(base).total() == base.gpus_used
    figure = layout_chart(layouts(base), layouts(doubled))
    assert [sum(bar.x) for bar in figure.data] == [base.gpus_used, doubled.gpus_used]
    assert len(figure.data[0].y) <= MOST_ROWS + 1


def test_a_layout_names_its_partitions_largest_first():
    mixed = api.solve(example_problems()["mixed"], profiles=shipped_profiles())
    names = [layout for _, layout in layouts(mixed)]
    assert any("g." in name for name in names)
    assert any(name.startswith("MPS, ") or name == "whole" for name in names)


def test_services_whose_number_of_places_changed_most_come_first(plans):
    table = moved_table(difference(*plans).moved)
    assert list(table["change"].abs()) == sorted(table["change"].abs(), reverse=True)
    assert table["change"].abs().max() > 0
    assert moved_table([]).empty


def test_the_curve_has_its_band_its_gaps_and_its_reasons():
    figure = sweep_chart((RATE,), CURVE, (STEP,))
    bound, cost, line, without = figure.data
    assert list(bound.y) == [3.0, 4.5, None]
    assert list(cost.y) == list(line.y) == [3.0, 5.0, None]
    assert line.line.shape == "hv"
    assert "+$2.00/h: +1 T4: search" in line.customdata[1]
    assert list(without.x) == [2.0]
    assert "too fast" in without.customdata[0]
    assert [note.text for note in figure.layout.annotations] == ["search"]


def test_a_curve_of_capacity_has_its_unit_and_its_limit_above():
    points = tuple(
        point((i,), (1.0 + i,), 3.0, capacity=capacity, capacity_limit=1200.0 * (1 + i))
        for i, capacity in enumerate((1000.0, 2400.0))
    )
    figure = sweep_chart((RATE,), points, objective=CAPACITY)
    limit, capacity, line = figure.data
    assert list(limit.y) == [1200.0, 2400.0]
    assert list(capacity.y) == list(line.y) == [1000.0, 2400.0]
    assert (figure.layout.yaxis.title.text, figure.layout.yaxis.tickprefix) == ("requests/s", "")
    assert "1,000.0 requests/s" in line.customdata[0]
    assert "proven: at most 1,200.0" in line.customdata[0]
    (cells,) = sweep_chart((RATE, SLO), (point((2, 1), (2.0, 100.0), 7.0, capacity=9.0),), objective=CAPACITY).data
    assert cells.z[1][2] == 9.0


def test_a_part_of_a_sweep_is_drawn_over_its_whole_range():
    figure = sweep_chart((RATE,), CURVE[:1])
    low, high = figure.layout.xaxis.range
    assert low < 1.0 < 2.0 < high


def test_two_axes_are_drawn_as_a_map_with_holes():
    figure = sweep_chart((RATE, SLO), (point((2, 1), (2.0, 100.0), 7.0),))
    (cells,) = figure.data
    assert [list(row) for row in cells.z] == [[None, None, None], [None, None, 7.0]]
    assert figure.layout.yaxis.title.text == "SLO of search, ms"


def test_steps_as_a_table():
    report = SweepReport(version=1, problem=reference(DEMO), axes=(RATE,), points=CURVE, steps=(STEP,), missing=0)
    (row,) = step_table(report).to_dict("records")
    assert row == {
        "every rate, times: from": 1.0,
        "to": 1.5,
        "adds per hour": 2.0,
        "GPUs": "+1 T4",
        "forced by": "search",
    }


def test_the_mix_stands_beside_types_that_can_serve_all_alone():
    alone = (
        SingleType(gpu="T4", status="optimal", cost_per_hour=12.0, gap=0.0, gpus=20, reason=None),
        SingleType(gpu="A100-80GB", status="failed", cost_per_hour=None, gap=None, gpus=0, reason="no profile"),
    )
    mix = FleetMix(
        status="feasible", cost_per_hour=8.0, bound_per_hour=7.5, gap=0.07, gpus={"T4": 2}, reason=None, single=alone
    )
    (bars,) = mix_chart(mix).data
    assert list(bars.y) == ["cheapest mix", "T4 alone"]
    assert list(bars.text) == ["$8.00", "$12.00 (+50%)"]
    assert list(mix_table(mix)["why not alone"]) == ["", "no profile"]


def test_candidates_are_types_with_measurements_and_their_prices_are_checked():
    table = candidate_table(DEMO, shipped_profiles())
    assert set(table[table["try"]]["GPU"]) == {entry.gpu for entry in DEMO.fleet}
    (entry, *_) = candidates(table, DEMO)
    assert (entry.gpu, entry.count, entry.sharing) == ("A100-80GB", None, ("mig",))
    assert entry.price_per_hour is None, "it stays the price book's"
    assert candidates(table.assign(**{"price per hour": 1.5}), DEMO)[0].price_per_hour == 1.5
    assert candidates(table.assign(**{"price per hour": pd.NA}), DEMO)[0].price_per_hour is None
    with pytest.raises(InputError, match="A100-80GB: price_per_hour is -1"):
        candidates(table.assign(**{"price per hour": -1.0}), DEMO)


def test_a_tornado_says_what_could_not_be_served():
    effects = [
        Sensitivity(what="slo", of="search", down_usd_per_hour=None, up_usd_per_hour=-0.5),
        Sensitivity(what="price", of="T4", down_usd_per_hour=-0.2, up_usd_per_hour=0.2),
    ]
    down, up = tornado_chart(effects, 0.1).data
    assert list(down.y) == ["SLO of search", "price of T4"]
    assert list(down.text) == ["cannot be served", "-$0.20"]
    assert list(up.text) == ["-$0.50", "+$0.20"]
