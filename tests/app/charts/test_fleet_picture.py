"""The pictures of fleets of any size, without the page."""

from collections import Counter
from itertools import pairwise
from xml.etree import ElementTree as Xml

import pytest
from problems.instances import problem_of, random_problem
from problems.shop import shop

from sliceplan.app.charts.colours import GREY, SERVICES, kept_apart, mixed
from sliceplan.app.charts.fleet import fleet_chart, looks_of
from sliceplan.app.charts.fleet_blocks import blocks_of
from sliceplan.app.charts.gpu_bars import MOST_DRAWN, MOST_ROWS
from sliceplan.app.charts.latency_budget import budget_chart, worst_first
from sliceplan.app.charts.legends import legend_of
from sliceplan.app.charts.service_colours import service_colours
from sliceplan.app.charts.side_by_side import GREYED, side_by_side_chart
from sliceplan.app.charts.slice_map import COLOURS, slice_map
from sliceplan.app.charts.texts import shortened
from sliceplan.app.report.fleet_picture import fleet_pictures
from sliceplan.app.tables.plan import GpuFilter, gpu_table, service_table
from sliceplan.solver.api import solve, transition
from sliceplan.solver.formats.exports.assign import assign, parse_supply
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.metrics.service_figures import service_figures
from sliceplan.solver.metrics.slice_map import SliceState, slices_of

DEMO = shop()
LARGE = random_problem(120, 4)
LARGE_PLAN = solve(LARGE)


def names_in_legend(figure):
    return {one.name for one in legend_of(figure)[0]}


def test_few_gpus_have_a_labelled_row_each_and_many_share_rows():
    plan = solve(DEMO)
    few = fleet_chart(plan, DEMO)
    assert list(few.layout.yaxis.ticktext) == [f"{gpu.id}<br>{gpu.node}, GPU {gpu.index}" for gpu in plan.gpus]
    size = next(
        part.mig_profile for gpu in plan.gpus for part in gpu.partitions if part.serves[0].workload == "style-match"
    )
    assert f"style-match<br>{size}" in few.data[0].text
    assert len(LARGE_PLAN.gpus) > MOST_ROWS
    many = fleet_chart(LARGE_PLAN, LARGE)
    assert many.data[0].text is None
    assert len(many.layout.yaxis.ticktext) < len(LARGE_PLAN.gpus) / 4
    assert many.layout.height < 46 * len(LARGE_PLAN.gpus) / 3


def test_all_blocks_are_one_trace_and_stay_in_the_cell_of_their_gpu():
    figure = fleet_chart(LARGE_PLAN, LARGE)
    bars, blocks = figure.data[0], blocks_of(LARGE_PLAN, LARGE)
    assert len(bars.x) == len(blocks)
    assert len(figure.data) == 1
    cells = {}
    for block, row, base, width in zip(blocks, bars.y, bars.base, bars.x, strict=True):
        assert int(base) == int(base + width), "a bar does not reach into the next cell"
        cells.setdefault(block.gpu_id, set()).add((row, int(base)))
    assert all(len(own) == 1 for own in cells.values())
    assert len({cell for own in cells.values() for cell in own}) == len(cells)


def test_a_node_has_rows_of_its_own_in_the_grid():
    plan = assign(LARGE_PLAN, [parse_supply(f"node-{i}:8") for i in range(1 + len(LARGE_PLAN.gpus) // 8)])
    figure = fleet_chart(plan, LARGE)
    assert list(figure.layout.yaxis.ticktext) == list(dict.fromkeys(gpu.node for gpu in plan.gpus))
    assert figure.layout.xaxis.range[1] == 8


def test_no_more_gpus_are_drawn_than_a_picture_can_show():
    gpus = [LARGE_PLAN.gpus[0].model_copy(update={"id": f"A100-80GB/{i}"}) for i in range(MOST_DRAWN + 50)]
    figure = fleet_chart(LARGE_PLAN, LARGE, gpus)
    assert (
        len({(row, int(base)) for row, base in zip(figure.data[0].y, figure.data[0].base, strict=True)}) == MOST_DRAWN
    )


def test_up_to_twelve_services_have_a_legend_and_neighbours_never_share_a_colour():
    assert names_in_legend(fleet_chart(solve(DEMO), DEMO)) == {
        *(workload.name for workload in DEMO.workloads),
        "out of reach",
    }
    looks = looks_of(LARGE, LARGE_PLAN, with_patterns=False)
    assert not names_in_legend(fleet_chart(LARGE_PLAN, LARGE)) & set(looks)
    for gpu in LARGE_PLAN.gpus:
        names = [part.serves[0].workload for part in sorted(gpu.partitions, key=lambda part: part.start)]
        for left, right in pairwise(names):
            assert left == right or looks[left].colour != looks[right].colour


def test_services_of_one_colour_differ_by_pattern_where_there_is_room():
    problem = random_problem(30, 2)
    looks = looks_of(problem, solve(problem), with_patterns=True)
    assert len(set(looks.values())) == 30


def test_colours_are_used_in_turn_and_as_often_as_there_are_too_few():
    few = [str(i) for i in range(len(SERVICES))]
    assert list(kept_apart(few, [("0", "1")]).values()) == list(range(len(SERVICES)))
    crowd = [str(i) for i in range(len(SERVICES) + 2)]
    everyone = [(one, other) for one in crowd for other in crowd]
    assert len(set(kept_apart(crowd, everyone).values())) == len(SERVICES)


def test_a_chosen_service_stands_out():
    plan = solve(DEMO)
    figure = fleet_chart(plan, DEMO, chosen=["style-match"])
    dim = [opacity < 1 for opacity in figure.data[0].marker.opacity]
    assert dim == [block.workload != "style-match" for block in blocks_of(plan, DEMO)]


def test_a_long_name_is_cut_to_its_block():
    assert shortened("style-match", 14) == "style-match"
    assert shortened("search-embedding", 14) == "search-embedd…"
    assert shortened("search-embedding", 56) == "search-embedding"


def test_a_name_that_was_cut_is_in_the_picture_in_full():
    (drawn,) = fleet_chart(solve(DEMO), DEMO, letters=62).data
    named = [(text.split("<br>")[0], name) for text, (name, _) in zip(drawn.text, drawn.customdata, strict=True)]
    assert ("search…", "search-embedding") in named
    assert all(text == name or name.startswith(text.removesuffix("…")) for text, name in named if name)
    assert {name for _, name in named} == {"", *(workload.name for workload in DEMO.workloads)}
    assert "…" not in "".join(text for text, name in zip(drawn.text, drawn.customdata, strict=True) if not name)


def test_filters_leave_the_gpus_that_they_name():
    plan = solve(DEMO)
    everything = GpuFilter()
    assert not everything.restricts
    assert everything.gpus_of(plan) == list(plan.gpus)
    some = GpuFilter(services=("ad-ranking",))
    its = [
        gpu.id
        for gpu in plan.gpus
        if any(one.workload == "ad-ranking" for part in gpu.partitions for one in part.serves)
    ]
    assert 0 < len(its) < len(plan.gpus)
    assert [gpu.id for gpu in some.gpus_of(plan)] == its
    assert some.services_of(plan) == {"ad-ranking"}
    assert GpuFilter(nodes=("gpu-node-2",)).gpus_of(plan) == []
    mixed = solve(example_problems()["mixed"])
    assert {gpu.gpu for gpu in GpuFilter(types=("V100-SXM2-16GB",)).gpus_of(mixed)} == {"V100-SXM2-16GB"}


def test_only_what_misses_its_slo_is_left_if_that_is_asked_for():
    igniter = example_problems()["igniter"]
    plan = solve(igniter, "ffd")
    missed = GpuFilter(only_missed=True)
    assert {gpu.id for gpu in missed.gpus_of(plan)} == {one.gpu for one in plan.violations}
    assert missed.services_of(plan) == {one.workload for one in plan.violations}


def test_tables_have_a_row_for_each_service_and_gpu():
    plan = solve(DEMO)
    services = service_table(service_figures(DEMO, plan)).set_index("service")
    # Which of the cheapest plans it is, is the solver's.
    sizes = [one.mig_profile for gpu in plan.gpus for one in gpu.partitions if one.serves[0].workload == "style-match"]
    runs_on = [part if " x " in part else f"1 x {part}" for part in services.loc["style-match", "runs on"].split(", ")]
    assert sorted(runs_on) == sorted(f"{number} x {size}" for size, number in Counter(sizes).items())
    assert services.loc["style-match", "slack"] == pytest.approx(
        100 * (1 - services.loc["style-match", "latency (ms)"] / services.loc["style-match", "may take (ms)"])
    )
    gpus = gpu_table(DEMO, plan, plan.gpus)
    assert gpus["cost per hour"].sum() == pytest.approx(plan.cost_per_hour)
    assert list(gpus["node"]) == ["gpu-node-1"] * 3
    assert "free share (%)" not in gpus.columns
    assert gpu_table(DEMO, plan, []).empty
    assert service_table([]).empty


def test_budget_bars_add_up_to_the_slo_unless_it_is_missed():
    igniter = example_problems()["igniter"]
    for planner in ("exact", "ffd"):
        figures = worst_first(service_figures(igniter, solve(igniter, planner)))
        figure = budget_chart(figures)
        totals = [sum(bar.x[i] for bar in figure.data) for i in range(len(figures))]
        for one, total in zip(figures, totals, strict=True):
            over = max(0.0, one.slowest.latency_ms - one.limit_ms) / one.slo_ms
            assert total == pytest.approx(100 * (1 + over))
        assert [width > 0 for width in figure.data[0].marker.line.width] == [one.misses for one in figures]
        assert [one.used for one in figures] == sorted((one.used for one in figures), reverse=True)


def test_budgets_of_mig_and_mps_have_their_causes_in_one_picture():
    mixed = example_problems()["mixed"]
    figure = budget_chart(worst_first(service_figures(mixed, solve(mixed))))
    names = [bar.name for bar in figure.data]
    assert names[0] == "execution"
    assert {"cache contention", "kept for batching and queueing"} <= set(names)
    assert any("cache contention" in text for bar in figure.data for text in bar.hovertext)


def test_a_batch_that_is_held_takes_its_part_of_the_slo():
    workloads = [{"name": name, "model": name, "rate_rps": 300, "slo_ms": 400} for name in ("bert", "resnet50")]
    problem = problem_of(workloads, latency="assembly")
    plan = solve(problem)
    figures = worst_first(service_figures(problem, plan))
    bars = {bar.name: bar for bar in budget_chart(figures).data}
    for i, one in enumerate(figures):
        served = one.slowest
        held_ms = min(1000 * (served.batch - 1) / served.rate_rps, served.dispatch_after_ms or 0.0)
        assert bars["filling the batch"].x[i] == pytest.approx(held_ms / 4)
        assert sum(bar.x[i] for bar in bars.values()) == pytest.approx(100)
    assert max(bars["filling the batch"].x) > 0


def test_an_slo_that_execution_may_take_whole_keeps_nothing():
    problem = problem_of([{"model": "bert", "rate_rps": 60, "slo_ms": 100}], slo_fraction=1.0)
    names = [bar.name for bar in budget_chart(service_figures(problem, solve(problem))).data]
    assert names == ["execution", "not needed"]


def test_the_slot_map_shows_used_free_and_out_of_reach():
    problem = problem_of([{"model": "vgg16", "rate_rps": 10, "slo_ms": 300}])
    gpus = solve(problem).gpus
    figure = slice_map(gpus)
    assert {"used", "free"} <= names_in_legend(figure)
    colours = list(figure.data[0].marker.color)
    assert colours.count(COLOURS[SliceState.USED]) == 1
    states = [one.state for one in slices_of(gpus[0])]
    assert colours.count(COLOURS[SliceState.FREE]) == states.count(SliceState.FREE) > 3
    assert any("room for" in text and "3g.40gb" in text for text in figure.data[0].hovertext)
    full = slice_map(solve(DEMO).gpus)
    assert list(full.data[0].marker.color).count(COLOURS[SliceState.OUT_OF_REACH]) == 1
    shared = slice_map(solve(example_problems()["igniter"]).gpus)
    assert any("free: " in text for text in shared.data[0].hovertext)
    assert slice_map(LARGE_PLAN.gpus).data[0].text is None


def test_a_service_has_one_colour_in_every_picture_of_a_plan():
    names = [workload.name for workload in LARGE.workloads]
    numbers = service_colours(names, LARGE_PLAN)
    looks = looks_of(LARGE, LARGE_PLAN, with_patterns=False)
    assert {name: look.colour for name, look in looks.items()} == {name: SERVICES[i] for name, i in numbers.items()}
    of_report = {}
    for picture in map(Xml.fromstring, fleet_pictures(LARGE_PLAN, LARGE)):
        for block in picture.iter("rect"):
            of_report.setdefault(block.find("title").text.split(" ")[0], set()).add(block.get("class").split(" ")[0])
    assert {name: of_report[name] for name in names} == {name: {f"b{numbers[name]}"} for name in names}
    moves = transition(LARGE_PLAN, LARGE_PLAN)
    colours = service_colours(names, LARGE_PLAN, LARGE_PLAN)
    figure = side_by_side_chart(moves.transition, LARGE_PLAN, moves.assigned, colours)
    greyed = {name: mixed(SERVICES[number], GREY, GREYED) for name, number in numbers.items()}
    (bars, _) = figure.data
    shown = {
        hover[3 : hover.index("</b>")]: colour for hover, colour in zip(bars.hovertext, bars.marker.color, strict=True)
    }
    assert shown == {name: greyed[name] for name in shown}
    assert len(shown) > len(SERVICES)
    assert GREY not in SERVICES
