"""The page for everyone: axe-core finds nothing on any screen in either theme, and nothing is cut at four widths."""

import json
from importlib.util import find_spec

import pytest
from playwright.sync_api import expect
from problems.small_problem import GOOD
from support.browser_walk import await_stillness, go, press, settle
from support.hostile_inputs import packed
from support.needs import AXE, skip_without

pytestmark = pytest.mark.browser

SCREENS = (
    "Start",
    "Services and fleet",
    "Plan",
    "Will it hold?",
    "Compare",
    "What-if",
    "Fragmentation",
    "Transition",
    "Profiles",
    "History",
    "Words",
)

WIDTHS = (390, 768, 1280, 1920)

OF_STREAMLIT = {"presentation-role-conflict": {"enabled": False}}
"""Streamlit's upload has a role and a label; a minor breach of a best practice, and no one's who only uses it."""

COLOURS_ONLY = {"runOnly": ["color-contrast", "link-in-text-block"]}
"""Themes differ in nothing else."""


def breaches(page, axe, scheme):
    """What breaches a rule, in the dark one of colours."""
    chosen = {"rules": OF_STREAMLIT} if scheme == "light" else COLOURS_ONLY
    found = axe.run(page, options={"resultTypes": ["violations"]} | chosen).response["violations"]
    return [(one["id"], node["html"][:160]) for one in found for node in one["nodes"]]


def show_in(page, scheme):
    """Shows the page in a theme, without motion, and waits until all of it is drawn so: what is old is pale."""
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    has_scheme = "one => getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme === one"
    page.wait_for_function(has_scheme, arg=scheme)
    await_stillness(page)
    expect(page.locator("[data-stale=true]")).to_have_count(0)


@pytest.fixture
def axe():
    if find_spec("axe_playwright_python") is None:
        skip_without(AXE)
    from axe_playwright_python.sync_playwright import Axe

    return Axe()


def assert_for_everyone(page, axe, screen):
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(f"document.querySelector('[data-testid=stMain]').scrollWidth <= {width}")
    page.set_viewport_size({"width": 1280, "height": 1400})
    for scheme in ("dark", "light"):
        show_in(page, scheme)
        assert breaches(page, axe, scheme) == [], (screen, scheme)


def test_every_screen_and_a_links_question_are_for_everyone_at_every_width(page, axe, address):
    press(page, "Compare")
    expect(page.get_by_test_id("stSidebar").get_by_text("proven cheapest")).to_be_visible()
    for screen in SCREENS:
        go(page, screen, heading="sliceplan" if screen == "Start" else screen)
        assert_for_everyone(page, axe, screen)
    page.goto(f"{address}/workloads?problem={packed(json.dumps(GOOD))}")
    expect(page.get_by_role("heading", name="Open this link?")).to_be_visible()
    assert_for_everyone(page, axe, "a link's question")


def test_the_dialog_of_own_profiles_is_for_everyone_before_and_after_a_table_is_pasted(page, axe):
    go(page, "Profiles")
    press(page, "Add profiles of your own")
    dialog = page.get_by_role("dialog")
    cells = dialog.get_by_role("textbox", name="Or cells of a spreadsheet")
    for pasted in ("", "model\tbatch\tlatency (ms)\tthroughput\nours\t1\t4.1\t240"):
        cells.fill(pasted)
        cells.press("Control+Enter")
        if pasted:
            expect(dialog.get_by_text("Read as a table of measurements")).to_be_visible()
        for scheme in ("dark", "light"):
            show_in(page, scheme)
            assert breaches(page, axe, scheme) == [], (pasted, scheme)


def test_a_phone_shows_tables_as_cards_and_changes_a_service_in_a_form(page):
    page.set_viewport_size({"width": 390, "height": 844})
    cards = page.get_by_test_id("stMain").locator(".cards:visible > li")
    expect(cards).to_have_count(9)
    expect(page.get_by_test_id("stDataFrame").first).to_be_hidden()
    press(page, "Change a service")
    dialog = page.get_by_role("dialog")
    rate = dialog.get_by_role("spinbutton", name="Requests per second")
    rate.fill("2200")
    rate.press("Tab")
    settle(page)
    dialog.get_by_role("button", name="Change it").click()
    expect(dialog).to_have_count(0)
    expect(cards.nth(1)).to_contain_text("2,200")
