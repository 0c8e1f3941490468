"""The server goes away under an open page, and comes back."""

import pytest
from playwright.sync_api import expect
from support.browser_walk import await_stillness, edit_first_rate, look, services_table
from support.page_server import free_port, running_page

pytestmark = pytest.mark.browser

SAID = "element => getComputedStyle(element.querySelector(':scope > div'), '::after').content"


def test_a_page_says_that_its_server_is_gone_and_goes_on_with_what_was_typed_when_it_is_back(window, tmp_path):
    port = free_port()
    page = window.new_page()
    gone = page.get_by_role("dialog", name="Connection error")
    not_kept = page.get_by_text("The work that this address names is not here")
    restored = page.get_by_text("The planner was started again. This is what you worked on")
    with running_page(tmp_path, port=port) as address:
        page.goto(f"{address}/workloads")
        # Of a server that has just begun the page is drawn late on a busy machine: not before this can it be edited.
        expect(page.get_by_role("button", name="Solve", exact=True)).to_be_enabled(timeout=90_000)
        await_stillness(page)
        edit_first_rate(page, "77")
        expect(page.get_by_text("of the problem before it was changed")).to_be_visible()
        await_stillness(page)
        expect(not_kept.or_(restored)).to_have_count(0)
    expect(gone).to_be_visible(timeout=60_000)
    assert "connects again by itself" in gone.evaluate(SAID)
    look(page, "33-connection-lost")
    with running_page(tmp_path, port=port) as address:
        expect(gone).to_have_count(0, timeout=60_000)
        expect(restored).to_be_visible()
        expect(services_table(page).locator("#glide-cell-3-0").last).to_have_text("77")
        look(page, "34-connected-again")
        page.goto(f"{address}/words?work=nobody-has-this-one")
        expect(not_kept).to_be_visible()
    page.close()
