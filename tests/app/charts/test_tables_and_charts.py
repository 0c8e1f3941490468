"""Tables and pictures, without the page."""

from itertools import pairwise

import pandas as pd
import pytest
from hypothesis import given, settings
from problems.instances import problem_of, problems, random_problem
from problems.shop import shop

from sliceplan.app.charts.colours import PALETTE, SERVICES, contrast, text_on
from sliceplan.app.charts.fleet import fleet_chart, place_of
from sliceplan.app.charts.fleet_blocks import blocks_of
from sliceplan.app.charts.gaps import gap_chart
from sliceplan.app.charts.legends import legend_of
from sliceplan.app.tables.comparison import comparison_table
from sliceplan.app.tables.fragmentation import fragmentation_table, variants_in_words
from sliceplan.app.tables.problem import elsewhere, fleet_table, marks_of, workload_table
from sliceplan.app.tables.problem import problem_of as stated
from sliceplan.solver.api import compare, solve
from sliceplan.solver.comparison.rows import Comparison
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.wording.planner_words import plain_name
from sliceplan.solver.wording.summary import plan_summary

PROBLEM = problem_of(
    [
        {"model": "resnet50", "rate_rps": 900, "slo_ms": 200, "max_replicas": 3, "batch_sizes": [8, 16], "value": 2},
        {"model": "bert", "rate_rps": 60, "slo_ms": 500, "gpus": ["A100-80GB"], "min_replicas": 2},
    ],
    fleet=[
        {"gpu": "A100-80GB", "nodes": [{"name": "n1", "count": 4}], "price_per_hour": 2.5, "sharing": ["mig", "mps"]}
    ],
)


def through_tables(problem):
    own = problem.settings.model_dump(mode="json")
    return stated(problem.name, fleet_table(problem), workload_table(problem), own, profiles=problem.profiles)


@pytest.mark.parametrize("problem", [PROBLEM, *example_problems().values()], ids=lambda problem: problem.name)
def test_a_problem_survives_the_way_through_the_tables(problem):
    assert through_tables(problem) == problem


@settings(max_examples=50, deadline=None)
@given(problems())
def test_any_problem_survives_the_way_through_the_tables(problem):
    """Property: tables lose nothing of a problem."""
    assert through_tables(problem) == problem


def test_a_half_filled_row_is_marked_with_what_is_missing():
    workloads = workload_table(PROBLEM)
    workloads.loc[2] = [None] * len(workloads.columns)
    workloads.loc[0, "slo_ms"] = -3
    with pytest.raises(InputError) as caught:
        stated("test", fleet_table(PROBLEM), workloads, {})
    marks = marks_of(caught.value.findings, "workloads", 3)
    assert marks[0] == "slo_ms is -3.0; expected a number above 0"
    assert marks[1] == ""
    assert "model is missing" in marks[2]
    assert elsewhere(caught.value.findings) == []


def test_a_finding_of_the_whole_problem_belongs_to_no_row():
    with pytest.raises(InputError) as caught:
        stated("test", fleet_table(PROBLEM), workload_table(PROBLEM), {"slo_fraction": 7})
    assert elsewhere(caught.value.findings) == ["settings.slo_fraction is 7; expected a number of at most 1"]


def test_blocks_of_a_gpu_fill_its_axis_without_overlap():
    problem = random_problem(12, seed=2)
    plan = solve(problem)
    blocks = blocks_of(plan, problem)
    for gpu in plan.gpus:
        own = [block for block in blocks if block.gpu_id == gpu.id]
        assert own[0].start == 0
        assert own[-1].start + own[-1].width == pytest.approx(1)
        for left, right in pairwise(own):
            assert left.start + left.width == pytest.approx(right.start)
        assert sum(block.workload is not None for block in own) == len(gpu.partitions)


def test_room_that_no_profile_can_reach_is_told_from_free_room():
    problem = problem_of([{"model": "vgg16", "rate_rps": 7 * 150, "slo_ms": 300}])
    blocks = {block.start: block for block in blocks_of(solve(shop()), problem)}
    assert not blocks[7 / 8].reachable
    assert "no MIG profile can start here" in blocks[7 / 8].hover
    names = [one.name for one in legend_of(fleet_chart(solve(shop()), shop()))[0]]
    assert "out of reach" in names
    assert "free" not in names


def test_hover_tells_batch_processes_latency_against_slo_and_load():
    plan = solve(PROBLEM)
    served = plan.gpus[0].partitions[0].serves[0]
    hover = " ".join(block.hover for block in blocks_of(plan, PROBLEM))
    assert f"batch {served.batch}" in hover
    assert f"latency {served.latency_ms:.1f} ms (fitted), SLO 200 ms" in hover
    assert "load " in hover
    assert len(fleet_chart(plan, PROBLEM).data[0].x) == len(blocks_of(plan, PROBLEM))


def test_gap_bars_show_every_plan_and_which_is_proven_cheapest():
    comparison = compare(shop())
    figure = gap_chart(comparison)
    best, dearer, needed = figure.data
    assert dict(zip(best.y, best.text, strict=True))["exact"] == "★ $10.29"
    assert dict(zip(dearer.y, dearer.text, strict=True))["parvagpu"] == "$13.72, +33.3 %"
    assert {*best.x, *needed.x} == {comparison.bound.cost_per_hour}
    assert set(best.y) | set(dearer.y) == {plan.planner for plan in comparison.plans}
    said = [note.text for note in figure.layout.annotations]
    assert "proven: not below $10.29" in said
    named = {note.y: note.text for note in figure.layout.annotations if note.yanchor == "bottom" and note.y != 1}
    assert {place: text.split("<")[0].strip() for place, text in named.items()} == {
        plan.planner: plain_name(plan.planner) for plan in comparison.plans
    }
    assert all(text in said for bars in (best, dearer) for text in bars.text)
    assert {one.name: one.colour for one in legend_of(figure)[0]} == {
        bars.name: bars.marker.color for bars in (best, dearer, needed)
    }
    table = comparison_table(comparison)
    assert list(table["planner"]) == [plan.planner for plan in comparison.plans]
    assert table.loc[0, "gap"] == 0


def test_a_plan_that_is_dearer_by_a_ten_millionth_is_not_as_cheap_as_any_can_be():
    exact, other = compare(shop(), ["exact", "parvagpu"]).plans
    near = other.model_copy(update={"cost_per_hour": exact.cost_per_hour * (1 + 1e-7)})
    best, *_ = gap_chart(Comparison((exact, near), exact.bound)).data
    assert list(best.y) == ["exact"]


def test_planners_without_a_plan_have_empty_cells():
    comparison = compare(problem_of([{"model": "bert", "rate_rps": 5, "slo_ms": 1}]), ["exact", "parvagpu"])
    table = comparison_table(comparison)
    assert table["cost per hour"].isna().all()
    assert set(table["verdict"]) == {"proven: no plan exists"}


def test_fragmentation_lists_what_could_still_be_added():
    table = fragmentation_table(solve(problem_of([{"model": "vgg16", "rate_rps": 10, "slo_ms": 300}])))
    assert isinstance(table, pd.DataFrame)
    assert "1g.10gb" in table.loc[0, "one of these still fits"]
    plan = solve(shop())
    shown = fragmentation_table(plan).set_index("GPU")
    for cut in plan.metrics.gpus:
        for column, compute, memory in (
            ("free slices", cut.free_compute_slices, cut.free_memory_slices),
            ("out of reach", cut.wasted_compute_slices, cut.wasted_memory_slices),
        ):
            counts = dict(reversed(part.split()) for part in shown.loc[cut.id, column].split(", ") if part != "none")
            assert (int(counts.get("compute", 0)), int(counts.get("memory", 0))) == (compute, memory)


def test_ends_of_profiles_names_are_explained_where_there_are_some():
    every = {profile.name for gpu in load_catalogue().values() if gpu.mig for profile in gpu.mig.profiles}
    ends = {name[name.index("gb") + 2 :] for name in every} - {""}
    said = variants_in_words(every)
    assert {sentence.split()[0] for sentence in said.split(". ")} == ends
    assert variants_in_words(["1g.10gb", "1g.10gb+me"]).startswith("+me after a size: ")
    assert "+me.all" not in variants_in_words(["1g.10gb+me"])
    assert variants_in_words(["1g.10gb", "2g.20gb"]) == ""


def test_headline_says_how_good_a_plan_is_proven_to_be():
    plan = solve(PROBLEM)
    assert plan_summary(plan, 0.0).endswith("per hour: proven cheapest, at your own prices")
    other = solve(PROBLEM, "whole-gpu")
    assert "at most 50.0 % above the cheapest possible" in plan_summary(other, 0.5)
    assert "at most 0.003 % above the cheapest possible" in plan_summary(other, 0.00003)
    assert "per hour: proven cheapest, at" in plan_summary(other, 0.0)
    assert "nothing is proven" in plan_summary(other, None)


def test_shares_and_whole_gpus_are_drawn_to_scale_with_causes_on_hover():
    problem = example_problems()["mixed"].model_copy(update={"fleet": example_problems()["mixed"].fleet[1:2]})
    names = {"photo-tags", "thumbnails", "checkout-camera"}
    problem = problem.model_copy(update={"workloads": tuple(w for w in problem.workloads if w.name in names)})
    plan = solve(problem)
    shared = [gpu for gpu in plan.gpus if gpu.sharing == "mps"]
    assert shared
    for gpu in shared:
        own = [block for block in blocks_of(plan, problem) if block.gpu_id == gpu.id]
        widths = [block.width * 100 for block in own if block.workload is not None]
        assert widths == pytest.approx([partition.sm_percent for partition in gpu.partitions])
        assert own[-1].start + own[-1].width == pytest.approx(1)
        causes = gpu.partitions[0].serves[0].causes_ms
        assert all(f"{ms:.2f} ms {cause}" in own[0].hover for cause, ms in causes.items())
    whole = solve(problem, "whole-gpu")
    assert {gpu.sharing for gpu in whole.gpus} == {"exclusive"}
    assert {(block.start, block.width, block.size) for block in blocks_of(whole, problem)} == {(0.0, 1.0, "whole GPU")}


def test_a_gpu_under_mps_shows_its_predicted_power_and_clock():
    plan = solve(example_problems()["igniter"], "igniter")
    gpu, cut = plan.gpus[0], plan.metrics.gpus[0]
    assert place_of(gpu, cut) == f"{gpu.id}<br>MPS, {cut.power_demand_w:.0f} W, {cut.frequency_mhz:.0f} MHz"
    assert place_of(gpu, None) == f"{gpu.id}<br>MPS"


def test_services_that_miss_their_slo_are_outlined_and_counted():
    problem = example_problems()["igniter"]
    plan = solve(problem, "ffd")
    missed = {one.workload for one in plan.violations}
    blocks = blocks_of(plan, problem)
    assert {block.workload for block in blocks if block.misses} == missed
    assert all("misses its SLO" in block.hover for block in blocks if block.misses)
    outlines = fleet_chart(plan, problem).data[0].marker.line.width
    assert {block.workload for block, width in zip(blocks, outlines, strict=True) if width} == missed
    comparison = compare(problem, ["exact", "ffd", "igniter"])
    table = comparison_table(comparison).set_index("planner")
    assert table.loc["ffd", "requests in time"].startswith(f"{len(missed)} of 12 services late")
    assert pd.isna(table.loc["ffd", "gap"])
    assert list(gap_chart(comparison).data[0].y) == ["exact", "igniter"]


def test_fragmentation_of_a_mixed_fleet_has_what_each_kind_of_gpu_leaves():
    table = fragmentation_table(solve(example_problems()["mixed"])).set_index("sharing")
    assert table.loc["MPS", "free share (%)"] > 0
    assert pd.isna(table.loc["MPS", "free slices"])
    assert table.loc["MIG", "free slices"].notna().all()
    only_shares = fragmentation_table(solve(example_problems()["igniter"], "igniter"))
    assert "one of these still fits" not in only_shares.columns


def test_text_on_every_colour_is_black_or_white_and_read():
    assert {text_on(colour) for colour in PALETTE} == {"black", "white"}
    inks = {"black": "#000000", "white": "#FFFFFF"}
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#FFFFFF", "#767676") == pytest.approx(4.54, abs=0.005)  # the palest grey that is read on white
    assert min(contrast(colour, inks[text_on(colour)]) for colour in (*PALETTE, *SERVICES)) >= 4.5
