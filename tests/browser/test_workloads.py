"""The screen of a problem's tables in a real browser."""

import re

import pytest
from playwright.sync_api import expect
from support.browser_walk import (
    await_stillness,
    download,
    edit_first_rate,
    go,
    look,
    open_beginning,
    press,
    select_first_rate,
    services_table,
    settle,
    taken_in,
    unfold,
)

pytestmark = pytest.mark.browser

HEAD, ROW = 35, 35
"""Pixels of a table's head, and of each row."""


def sidebar(page):
    return page.get_by_test_id("stSidebar")


def dialog(page):
    return page.get_by_role("dialog")


def paste(page, text):
    """Pastes by the keyboard what another program would have put into the clipboard."""
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.wait_for_timeout(300)
    page.keyboard.press("Control+v")
    settle(page)


def middle_of(element):
    box = element.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def services_of(page):
    """Returns the services, a list of cells each, as the file for spreadsheets has them."""
    table = download(page, "Services as CSV").path().read_text()
    return [line.split(",") for line in table.splitlines()[1:]]


def rates_of(page):
    """Returns the rates of the first five services."""
    return [cells[2] for cells in services_of(page)[:5]]


def expect_rates(page, expected):
    """Looks until the first five services have these rates: an editor hands over what was typed a moment later."""
    for _ in range(10):
        if rates_of(page) == expected:
            break
        page.wait_for_timeout(500)
    assert rates_of(page) == expected


def test_a_pasted_table_is_looked_at_before_it_takes_the_old_ones_place_and_undo_brings_that_back(page):
    press(page, "Paste services")
    cells = dialog(page).get_by_role("textbox", name="Cells")
    cells.fill("service\tmodel\tslo (weeks)\trps\nshop\tvgg16\t0.2\t1,234")
    cells.press("Control+Enter")
    expect(dialog(page).get_by_text("is in weeks; expected ms")).to_be_visible()
    cells.fill("service;model;slo (ms);rps\nshop;vgg-16;200;50,5\nother;resnet50;100 ms;1.000")
    cells.press("Control+Enter")
    expect(dialog(page).get_by_text("1 row of this table must be looked at")).to_be_visible()
    look(page, "20-paste")
    file = {
        "name": "services.csv",
        "mimeType": "text/csv",
        "buffer": b"service;model;slo (ms);rps\nshop;VGG16;200;50,5",
    }
    dialog(page).get_by_test_id("stFileUploaderDropzoneInput").set_input_files(file)
    dialog(page).get_by_role("button", name="Replace the 8 with 1 row").click()
    expect(dialog(page)).to_have_count(0)
    press(page, "Solve")
    expect(sidebar(page).get_by_text("1 GPU, $3.43 per hour")).to_be_visible()
    go(page, "Services and fleet")
    page.get_by_role("button", name="Undo").click()
    press(page, "Solve")
    expect(sidebar(page).get_by_text("4 GPUs, $13.72 per hour")).to_be_visible()


def test_gpus_and_services_are_chosen_by_what_is_known_of_them(page):
    unfold(page, "Fleet: ")
    press(page, "Add GPUs")
    expect(dialog(page).get_by_text("Profiled here")).to_be_visible()
    look(page, "21-add-gpus")
    dialog(page).get_by_role("button", name="Add to the fleet").click()
    expect(dialog(page)).to_have_count(0)
    press(page, "Add a service")
    expect(dialog(page).get_by_role("spinbutton", name="SLO, milliseconds")).to_be_visible()
    look(page, "22-add-service")
    dialog(page).get_by_role("button", name="Add the service").click()
    expect(dialog(page)).to_have_count(0)
    look(page, "23-added")
    page.keyboard.press("Alt+z")
    settle(page)
    page.keyboard.press("Alt+z")
    settle(page)
    press(page, "Solve")
    expect(sidebar(page).get_by_text("4 GPUs, $13.72 per hour")).to_be_visible()


def test_edits_typed_one_after_the_other_are_all_kept_and_planned_by_a_press_that_follows_at_once(page):
    solve = middle_of(page.get_by_role("button", name="Solve", exact=True))
    edit_first_rate(page, "2200")
    for row, value in enumerate(("111", "222", "333", "444"), start=1):
        # The browser has to follow; what the server does meanwhile is not waited for.
        expect(services_table(page).locator(f"#glide-cell-3-{row}[aria-selected=true]").last).to_be_attached()
        page.keyboard.type(value, delay=40)
        expect(page.locator(".gdg-input")).to_have_value(value)
        taken_in(page)
        page.keyboard.press("Enter")
    # A table sends what was typed a moment after it: the press was answered by the plan of the rate before.
    page.mouse.click(*solve)
    expect(page.get_by_role("heading", name="Plan", level=1)).to_be_visible()
    expect(
        sidebar(page).get_by_text(re.compile(r"^5 GPUs, \$17\.15 per hour: proven cheapest(?!.*before it)"))
    ).to_be_visible()
    go(page, "Services and fleet")
    expect_rates(page, ["2200.0", "111.0", "222.0", "333.0", "444.0"])
    expect(page.get_by_role("button", name="Undo")).to_be_enabled()


def test_what_was_typed_is_kept_by_who_leaves_the_screen_at_once(page):
    before = rates_of(page)
    link = middle_of(page.get_by_role("link", name="Words", exact=True))
    edit_first_rate(page, "2300")
    page.mouse.click(*link)
    expect(page.get_by_role("heading", name="Words", level=1)).to_be_visible()
    go(page, "Services and fleet")
    expect_rates(page, ["2300.0", *before[1:]])


def test_services_are_called_as_they_were_typed_on_the_plan_and_after_a_reload(page):
    select_first_rate(page)
    editor = page.locator(".gdg-input, #portal input, #portal textarea").first
    for key in ("ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
        page.wait_for_timeout(100)
    for row, name in enumerate(("写真", "chat encoder")):
        expect(services_table(page).locator(f"#glide-cell-1-{row}[aria-selected=true]").last).to_be_attached()
        page.keyboard.press("Enter")
        editor.fill(name)
        taken_in(page)
        page.keyboard.press("Enter")
        settle(page)
    expect(page.get_by_text("Files and units call '写真' XieZhen, 'chat encoder' chat-encoder.")).to_be_visible()
    look(page, "21-any-script")
    press(page, "Solve")
    expect(sidebar(page).get_by_text("proven cheapest")).to_be_visible()
    go(page, "Plan")
    legend = page.locator("ul.swatches")
    for name in ("写真", "chat encoder"):
        expect(legend.get_by_text(name, exact=True)).to_be_visible()
    look(page, "22-any-script-plan")
    page.set_viewport_size({"width": 390, "height": 844})
    look(page, "23-any-script-plan-phone")
    page.reload()
    for name in ("写真", "chat encoder"):
        expect(legend.get_by_text(name, exact=True)).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 1400})
    go(page, "Services and fleet")
    assert [cells[0] for cells in services_of(page)[:2]] == ["写真", "chat encoder"]
    open_beginning(page)
    problem = download(page, "Download problem").path().read_text()
    assert "name: XieZhen" in problem
    assert "label: 写真" in problem


def test_cells_of_a_spreadsheet_are_pasted_into_the_cells_of_the_table(page, address):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    select_first_rate(page)
    paste(page, "2200\t310\r\n111\t320\r\n")
    # One row more than there are: from the first column of the row for new ones, with the line end after the last.
    for key in ("ArrowLeft", "ArrowLeft", *("ArrowDown",) * 8):
        page.keyboard.press(key)
        page.wait_for_timeout(100)
    # What a screen reader is told of the cells is as of the last move.
    expect(services_table(page).locator("#glide-cell-4-1").last).to_have_text("320")
    paste(page, "más thumbs\tresnet50\t50\t200\r\nmore-tags\tvgg16\t60\t250\r\n")
    expect(page.get_by_text("Files and units call 'más thumbs' mas-thumbs")).to_be_visible()
    rows = [cells[:4] for cells in services_of(page)]
    assert len(rows) == 10
    assert [row[2:] for row in rows[:3]] == [["2200.0", "310.0"], ["111.0", "320.0"], ["620.0", "300.0"]]
    assert rows[8:] == [["más thumbs", "resnet50", "50.0", "200.0"], ["more-tags", "vgg16", "60.0", "250.0"]]
    press(page, "Solve")
    expect(sidebar(page).get_by_text("proven cheapest")).to_be_visible()


def test_a_wrong_row_is_marked_in_its_place_and_what_is_typed_meanwhile_is_kept(page):
    before = rates_of(page)
    select_first_rate(page)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Delete")
    page.keyboard.press("ArrowDown")
    editor = page.locator(".gdg-input")
    # The table opens its editor with the first digit, which takes a busy machine a while.
    for typed in ("4", "44"):
        page.keyboard.type("4")
        expect(editor).to_have_value(typed)
    mark = page.locator(".row_marks > li")
    expect(mark).to_contain_text("Rate (req/s) is missing")
    page.keyboard.type("4")
    expect(editor).to_have_value("444")
    taken_in(page)
    page.keyboard.press("Enter")
    settle(page)
    expect_rates(page, [before[0], "", "444.0", *before[3:]])
    look(page, "24-wrong-row")
    table = services_table(page).bounding_box()
    assert mark.bounding_box()["y"] == pytest.approx(table["y"] + HEAD + ROW, abs=2)
    page.keyboard.press("Alt+z")
    page.keyboard.press("Alt+z")
    expect(mark).to_have_count(0)
    expect_rates(page, before)


def fill_down(page, gesture, expected):
    """Fills down by a gesture, again where a page that was drawn at this moment took the selection away."""
    for _ in range(3):
        await_stillness(page)
        gesture(page)
        if rates_of(page) == expected:
            break
    expect_rates(page, expected)


def drag_down_by_keys(page):
    select_first_rate(page)
    for row in (1, 2, 3):
        page.keyboard.press("Shift+ArrowDown")
        expect(services_table(page).locator(f"#glide-cell-3-{row}[aria-selected=true]").last).to_be_attached()
    page.keyboard.press("Control+d")


def drag_down_by_the_corner(page):
    select_first_rate(page)
    # What is typed into a cell stands in a field that covers it: that of the cell to the right begins at the corner.
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    right = page.locator("#portal .gdg-style").bounding_box()["x"]
    select_first_rate(page)
    bottom = services_table(page).bounding_box()["y"] + HEAD + ROW
    page.mouse.move(right - 3, bottom - 3)
    page.mouse.down()
    page.mouse.move(right - 20, bottom + 1.5 * ROW, steps=10)
    page.mouse.up()


def test_a_cell_is_filled_down_by_the_keyboard(page):
    before = rates_of(page)
    fill_down(page, drag_down_by_keys, [*before[:1] * 4, before[4]])
    page.keyboard.press("Escape")
    page.keyboard.press("Alt+z")
    settle(page)
    expect_rates(page, before)


def test_a_cell_is_filled_down_by_its_corner(page):
    before = rates_of(page)
    fill_down(page, drag_down_by_the_corner, [*before[:1] * 3, *before[3:]])
