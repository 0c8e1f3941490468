"""A server of the page and a browser window, for all tests that walk through it."""

from importlib.util import find_spec

import pytest
from playwright.sync_api import expect
from support.needs import AXE, skip_without
from support.page_server import running_page

# A busy machine draws late; what is wrong never comes.
expect.set_options(timeout=60_000)


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    """Starts the page as `sliceplan ui` does, on a free port of localhost, with an empty store of its own."""
    with running_page(tmp_path_factory.mktemp("store")) as started:
        yield started


@pytest.fixture(scope="session")
def window(browser, address):
    """
    The browser that all tests open their tabs in, for the page's program is then read once; no tab knows another.

    Nothing moves in it, for frames that nobody looks at are a quarter of all its CPU; what a test opens in a window of
    its own moves, as at most people's, but for logins.
    """
    context = browser.new_context(reduced_motion="reduce")
    # The process of the server's tabs ends with the last of them, and what it has compiled is gone: one stays.
    context.new_page().goto(f"{address}/_stcore/health")
    yield context
    context.close()


def is_error(message):
    """
    Tells whether the console's message is an error of the page.

    A reload of a screen at /screen makes Streamlit look for its server at /screen/_stcore first, which is not found.
    """
    is_probe = message.location.get("url", "").endswith(("/_stcore/health", "/_stcore/host-config"))
    return message.type == "error" and not is_probe


def said_of(message):
    return f"{message.text} ({message.location.get('url')})"


@pytest.fixture
def tab(window):
    """A tab with nothing in it; at the end, neither the browser's console nor Streamlit may have reported an error."""
    opened = window.new_page()
    opened.set_viewport_size({"width": 1280, "height": 1400})
    errors = []
    opened.on("console", lambda message: errors.append(said_of(message)) if is_error(message) else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    assert opened.get_by_test_id("stException").count() == 0
    assert errors == []
    opened.close()


@pytest.fixture
def page(tab, address):
    """A tab with the page's tables."""
    tab.goto(f"{address}/workloads")
    expect(tab.get_by_role("button", name="Solve", exact=True)).to_be_enabled(timeout=90_000)
    return tab


@pytest.fixture
def axe():
    if find_spec("axe_playwright_python") is None:
        skip_without(AXE)
    from axe_playwright_python.sync_playwright import Axe

    return Axe()
