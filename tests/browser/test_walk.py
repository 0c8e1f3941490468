"""The page in a real browser, as a user walks through it."""

import json

import pytest
from playwright.sync_api import expect
from problems.instances import ROOT
from support.browser_walk import (
    download,
    edit_first_rate,
    go,
    hover_until,
    load_example,
    look,
    open_beginning,
    press,
    select_first_rate,
)

from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.formats.problem_files import dump_problem, example_problems, parse_problem, read_problem

pytestmark = pytest.mark.browser


def test_solving_the_demo_draws_the_plan_and_offers_it(page, tmp_path):
    look(page, "1-start")
    press(page, "Solve")
    go(page, "Plan")
    expect(page.get_by_role("heading", name="4 GPUs, $13.72 per hour: proven cheapest")).to_be_visible(timeout=20_000)
    expect(page.locator(".js-plotly-plot .bars path").first).to_be_visible()
    look(page, "2-plan")
    hover_until(page.locator(".js-plotly-plot .bars path").first, "latency")
    page.locator(".js-plotly-plot .bars .point path").nth(3).click(force=True)
    expect(page.get_by_text("of the GPU, which is $")).to_be_visible()
    download(page, "Plan as JSON").save_as(tmp_path / "demo.plan.json")
    assert read_plan(tmp_path / "demo.plan.json").gpus_used == 4
    go(page, "Services and fleet")
    open_beginning(page)
    download(page, "Download problem").save_as(tmp_path / "demo.yaml")
    assert read_problem(tmp_path / "demo.yaml") == read_problem(ROOT / "plans" / "demo.yaml")


def test_comparing_shows_gaps_and_the_rooms_left(page):
    press(page, "Compare")
    go(page, "Compare")
    expect(page.get_by_text("Proven: no plan costs less than $13.72 per hour")).to_be_visible(timeout=30_000)
    expect(page.locator(".js-plotly-plot").get_by_text("+100.0 %").first).to_be_visible()
    look(page, "3-compare")
    page.get_by_role("tab", name="Prices").click()
    expect(page.get_by_text("The shares add up to $13.72 per hour")).to_be_visible(timeout=10_000)
    look(page, "12-prices")
    go(page, "Fragmentation")
    expect(page.get_by_text("Idle in partitions", exact=True)).to_be_visible()
    look(page, "4-fragmentation")


def test_an_edited_rate_changes_the_plan_and_a_missing_one_is_marked(page):
    press(page, "Solve")
    expect(page.get_by_text("proven cheapest").first).to_be_visible(timeout=20_000)
    go(page, "Services and fleet")
    edit_first_rate(page, "2200")
    expect(page.get_by_text("of the problem before it was changed")).to_be_visible(timeout=10_000)
    press(page, "Solve")
    expect(page.get_by_role("heading", name="Plan", level=1)).to_be_visible()
    expect(page.get_by_text("Against the plan before:")).to_be_visible()
    expect(page.get_by_text("GPUs, $").first).not_to_contain_text("4 GPUs", timeout=20_000)
    go(page, "Services and fleet")
    edit_first_rate(page, "2100")
    # A wrong number is refused in the cell, but a cell can be cleared.
    select_first_rate(page)
    page.keyboard.press("Delete")
    expect(page.get_by_text("1 row of this table cannot be used")).to_be_visible(timeout=10_000)
    expect(page.get_by_role("button", name="Solve", exact=True)).to_be_disabled()
    look(page, "5-wrong-cell")


def test_a_large_example_is_readable(page):
    load_example(page, "parvagpu-s6")
    press(page, "Solve")
    go(page, "Plan")
    expect(page.get_by_role("heading", name="17 GPUs")).to_be_visible(timeout=20_000)
    look(page, "6-large")


def test_a_mixed_fleet_shows_shares_beside_slices_and_causes_on_hover(page):
    load_example(page, "mixed")
    press(page, "Solve")
    go(page, "Plan")
    expect(page.get_by_role("heading", name="3 GPUs, $9.92 per hour: proven cheapest")).to_be_visible(timeout=20_000)
    expect(page.locator(".js-plotly-plot").get_by_text("MPS, ").first).to_be_visible()
    share = page.locator(".js-plotly-plot .bars .point").filter(has_text="checkout-camera").locator("path").first
    hover_until(share, "cache contention")
    look(page, "8-mixed")
    go(page, "Fragmentation")
    look(page, "9-mixed-fragmentation")


def test_a_press_waits_for_the_file_that_was_chosen_before(page, tmp_path):
    """The way of the file is held up; a press that did not wait would leave the screen, which then never has it."""
    held = []
    page.route("**/upload_file/**", lambda route: held.append(route))
    chosen = tmp_path / "chosen.yaml"
    chosen.write_text(dump_problem(example_problems()["parvagpu-s1"].model_copy(update={"name": "chosen"})))
    open_beginning(page)
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(chosen)
    page.get_by_role("button", name="Solve", exact=True).click()
    page.wait_for_timeout(1_000)
    expect(page.get_by_role("heading", name="Services and fleet", level=1)).to_be_visible()
    for route in held:
        route.continue_()
    page.unroute_all()
    expect(page.get_by_role("heading", name="Plan", level=1)).to_be_visible()
    expect(page.get_by_test_id("stSidebar").get_by_text("chosen", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="GPU", level=2).first).to_contain_text("proven cheapest")


def test_a_wrong_upload_is_explained_and_a_right_one_replaces_the_problem(page, tmp_path):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("version: 1\nname: x\nfleet: [{gpu: A100-80GB, colour: red}]\nworkloads: []\n")
    open_beginning(page)
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(wrong)
    expect(page.get_by_text("fleet[0].colour is not a field here")).to_be_visible(timeout=10_000)
    look(page, "7-wrong-upload")
    right = tmp_path / "right.json"
    workloads = [{"name": "only", "model": "vgg16", "rate_rps": 50, "slo_ms": 300}]
    data = {"version": 1, "name": "mine", "fleet": [{"gpu": "A100-80GB"}], "workloads": workloads}
    right.write_text(json.dumps(data))
    assert parse_problem(right.read_text(), "right.json").name == "mine"
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(right)
    expect(page.get_by_text("fleet[0].colour")).to_have_count(0, timeout=10_000)
    press(page, "Solve")
    expect(page.get_by_text("1 GPU, $3.43 per hour: proven cheapest").first).to_be_visible(timeout=20_000)
