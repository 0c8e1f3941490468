"""From a table of one's own measurements to a plan with them."""

import pytest
from playwright.sync_api import expect
from support.browser_walk import go, look, press, settle

pytestmark = pytest.mark.browser

TABLE = "\n".join(
    ["mig\tbatch\ttime\tthroughput"]
    + [
        f"{size}\t{batch}\t{batch * each / 1000}\t{1000 / each}"
        for size, each in (("1g.10gb", 9), ("7g.80gb", 2))
        for batch in (1, 4, 8)
    ]
)


def test_a_pasted_table_of_measurements_becomes_a_profile_that_plans_use(page):
    go(page, "Profiles")
    press(page, "Add profiles of your own")
    dialog = page.get_by_role("dialog")
    cells = dialog.get_by_role("textbox", name="Or cells of a spreadsheet")
    cells.fill(TABLE)
    cells.press("Control+Enter")
    expect(dialog.get_by_text("Read as a table of measurements")).to_be_visible()
    expect(dialog.get_by_text("Please correct this first")).to_be_visible()
    model = dialog.get_by_role("textbox", name="Model of all rows")
    model.fill("ours")
    model.press("Enter")
    expect(dialog.get_by_text("ours on A100-80GB: measured, 6 operating points")).to_be_visible()
    # Seconds, by the figures alone.
    expect(dialog.get_by_test_id("stSelectbox").filter(has_text="Latency is in")).to_contain_text("s")
    settle(page)
    expect(dialog.locator(".js-plotly-plot")).to_be_visible()
    look(page, "own-profiles-table")
    dialog.get_by_role("button", name="Use 1 profile").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_test_id("stMain").get_by_text("Source: what was pasted")).to_be_visible()
    expect(page.get_by_test_id("stMain").locator(".js-plotly-plot").first).to_be_visible()
    look(page, "own-profiles")
    go(page, "Start", heading="sliceplan")
    press(page, "Plan my services")
    pasted = page.get_by_role("dialog").get_by_role("textbox", name="Rows from a spreadsheet")
    pasted.fill("service\tmodel\trps\tslo (ms)\nmine\tours\t300\t200")
    pasted.press("Control+Enter")
    page.get_by_role("dialog").get_by_role("button", name="Plan this service").first.click()
    expect(page.get_by_role("heading", name="Plan", level=1)).to_be_visible()
    expect(page.get_by_test_id("stSidebar").get_by_text("proven cheapest")).to_be_visible()
    expect(page.get_by_test_id("stMain").get_by_text("mine").first).to_be_visible()
