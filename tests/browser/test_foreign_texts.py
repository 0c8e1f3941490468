"""What links state is literal on the page: nothing of theirs becomes an element."""

import json

import pytest
from problems.small_problem import GOOD
from support.browser_walk import press
from support.hostile_inputs import MARKDOWN, packed

pytestmark = pytest.mark.browser


def shown_by(window, address, query, *, is_asked=False):
    """
    Returns what the page shows of a link: its text, and everything foreign that became an element.

    `is_asked`: somebody has work of their own, and is asked first; what the question shows is looked at too.
    """
    tab = window.new_page()
    tab.goto(f"{address}/workloads?problem={query}")
    asked, found = "", []
    if is_asked:
        opening = tab.get_by_role("button", name="Open the link")
        opening.wait_for(timeout=60_000)
        asked, found = read(tab)
        opening.click()
    tab.get_by_text("Runs today").or_(tab.get_by_test_id("stDataFrame")).first.wait_for(timeout=60_000)
    settle(tab)
    for fold in tab.locator("details:not([open]) > summary").all()[::-1]:
        fold.click()
        settle(tab)
    text, more = read(tab)
    tab.close()
    return asked + text, found + more


def settle(tab):
    tab.wait_for_function("!document.querySelector('[data-testid=stStatusWidget]')", timeout=60_000)


def read(tab):
    found = tab.evaluate(
        "[...document.querySelectorAll('a, img, strong, code, del, .katex, [role=img]')]"
        ".map(one => one.outerHTML).filter(html => /evil|home icon|strong>strong|code>code|>gone|katex/.test(html))"
    )
    return tab.inner_text("body"), found


def test_a_link_that_cannot_be_opened_puts_nothing_of_its_own_on_the_page(window, address):
    """What it states was rendered as Markdown: foreign links and pictures in the page's own boxes."""
    fleet = [{"gpu": "A100-80GB", "sharing": [MARKDOWN[:50]]}]
    text, found = shown_by(window, address, packed(json.dumps({**GOOD, "fleet": fleet})))
    assert "could not be opened" in text
    assert "http:\u2060//evil.example/x www\u2060.evil.example" in text
    assert not found
    text, found = shown_by(window, address, packed(json.dumps({**GOOD, MARKDOWN[60:]: 1})))
    assert ":\u2060material/home:" in text
    assert not found


def test_texts_of_a_problem_that_is_right_are_literal_too(page, window, address):
    press(page, "Solve")
    price = {"gpu": "A100-80GB", "usd_per_gpu_hour": 1, "date": "2026-11", "source": MARKDOWN}
    book = {"name": "mine", "cloud": MARKDOWN, "region": "r", "commitment": "c", "prices": [price]}
    query = packed(json.dumps({**GOOD, "prices": "mine", "price_books": [book]}))
    text, found = shown_by(window, address, query, is_asked=True)
    assert "It would replace what you are working on" in text
    assert "![p](http:\u2060//evil.example/p.png)" in text
    assert not found
