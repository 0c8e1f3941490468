"""What every screen is held to: axe-core finds nothing in either theme, and nothing is cut at four widths."""

from playwright.sync_api import expect

from support.browser_walk import await_stillness

WIDTHS = PHONE, *_ = (390, 768, 1280, 1920)

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
    """
    Shows the page in a theme, without motion, and waits until all of it is drawn so: what is old is pale.

    While a job is under way the page is drawn again and again.
    """
    expect(page.get_by_test_id("stProgress")).to_have_count(0)
    page.mouse.move(0, 0)  # from what would open where it stands
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    has_scheme = "one => getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme === one"
    page.wait_for_function(has_scheme, arg=scheme)
    await_stillness(page)
    expect(page.locator("[data-stale=true]")).to_have_count(0)


CUT = """() => [...document.querySelectorAll("[data-testid=stMain] button p")]
  .filter(text => text.scrollWidth > text.clientWidth + 1)
  .map(text => text.textContent)"""
"""Texts of buttons that have less room than they need."""


def assert_for_everyone(page, axe, screen):
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(f"document.querySelector('[data-testid=stMain]').scrollWidth <= {width}")
        assert page.evaluate(CUT) == [], (screen, width)
        if width == PHONE:  # what only a narrow page shows, as cards and the keys of a legend
            show_in(page, "light")
            # The tooltip of what came under the mouse as the page got narrow; it is outside of all landmarks.
            expect(page.locator("#stFloatingOverlayPortal > *")).to_have_count(0)
            found = breaches(page, axe, "light")
            assert not found, (screen, width, found)
    page.set_viewport_size({"width": 1280, "height": 1400})
    for scheme in ("dark", "light"):
        show_in(page, scheme)
        found = breaches(page, axe, scheme)
        assert not found, (screen, scheme, found)
