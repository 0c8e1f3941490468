"""A search that goes on, as one looks at it: the first plan with its gap at once, better ones, and Stop."""

import pytest
from playwright.sync_api import expect
from problems.igniter_instances import random_mps_problem
from support.browser_walk import await_stillness, download, go, look, press, runs_begun, settle, unfold
from support.tour import photograph

from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.formats.problem_files import dump_problem

pytestmark = pytest.mark.browser

WIDTHS = (400, 800, 1280, 1920)


def open_long_problem(page, tmp_path, time_limit_s=600.0):
    """Opens a problem whose search goes on for its whole time limit, which hardly anybody waits for here."""
    problem = random_mps_problem(300, 0)
    settings = problem.settings.model_copy(update={"time_limit_s": time_limit_s})
    file = tmp_path / "long.yaml"
    file.write_text(dump_problem(problem.model_copy(update={"name": "long", "settings": settings})))
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(file)
    expect(page.get_by_test_id("stSidebar").get_by_text("long", exact=True)).to_be_visible()
    await_stillness(page)


def test_the_first_plan_is_drawn_while_it_is_improved_and_stop_keeps_it(page, tmp_path):
    open_long_problem(page, tmp_path)
    press(page, "Solve")
    expect(page.get_by_test_id("stSidebar").get_by_text("Best so far: $")).to_be_visible()
    go(page, "Plan")
    expect(page.get_by_text("So far; being improved.")).to_be_visible()
    expect(page.get_by_text("above the cheapest possible ($").first).to_be_visible()
    expect(page.locator(".js-plotly-plot .bars path").first).to_be_visible()
    expect(page.get_by_role("button", name="Plan as JSON")).to_have_count(0)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 1400})
        look(page, f"30-improving-{width}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size({"width": 1280, "height": 1400})
    photograph(page, "improving", with_figures=False)
    stop = page.get_by_role("button", name="Stop and keep the best so far")
    expect(stop.filter(visible=True)).to_have_count(1)
    stop.filter(visible=True).click()
    expect(page.get_by_text("Stopped early: this is the best that was found until then.")).to_be_visible(timeout=40_000)
    expect(page.get_by_text("So far; being improved.")).to_have_count(0)
    look(page, "31-stopped")
    download(page, "Plan as JSON").save_as(tmp_path / "long.plan.json")
    assert read_plan(tmp_path / "long.plan.json").search.stopped == "interrupted"


def test_a_gap_that_is_good_enough_ends_the_search_by_itself(page, tmp_path):
    open_long_problem(page, tmp_path)
    unfold(page, "Settings: ")
    gap = page.get_by_role("spinbutton", name="Good enough above the least", exact=True)
    gap.fill("0.9")
    before = runs_begun(page)
    gap.press("Enter")
    settle(page, before)
    look(page, "32-gap")
    press(page, "Solve")
    go(page, "Plan")
    expect(page.get_by_text("The search ended at the gap that was asked for.")).to_be_visible()


def test_what_is_typed_into_a_dialog_stays_when_a_search_ends(page, tmp_path):
    open_long_problem(page, tmp_path, time_limit_s=6.0)
    press(page, "Solve")
    go(page, "Services and fleet")
    press(page, "Paste services")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Cells").fill("service\tmodel")
    expect(page.get_by_test_id("stSidebar").get_by_role("button", name="Stop and keep the best so far")).to_have_count(
        0, timeout=60_000
    )
    page.wait_for_timeout(1_000)
    expect(dialog.get_by_role("textbox", name="Cells")).to_have_value("service\tmodel")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    plan = page.get_by_test_id("stSidebar").get_by_text("GPUs, $")
    expect(plan).to_have_count(1)  # the plan before is there until the screen is drawn anew
    expect(plan).to_be_visible()
