"""Tables on a phone: cards, and the way to all of their rows."""

import re

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from sliceplan.app.widgets.tables import LEAST_WRAPPED_PX, LINE_PX, MOST_LINES, cards, row_height_px


def page(frame, name="rates"):
    def drawn(frame, name):
        from sliceplan.app.widgets.tables import show_table

        show_table(frame, name)

    return AppTest.from_function(drawn, args=(frame, name)).run()


def shown(app):
    """Returns the titles of the cards that are on the page."""
    (html,) = [one.proto.body for one in app.get("html")]
    return re.findall(r"<li><strong>(.*?)</strong>", html)


def rows(count):
    return pd.DataFrame({"service": [f"s{i}" for i in range(count)], "rate": range(count)})


@pytest.mark.parametrize("count", [41, 80, 81, 1000])
def test_every_row_can_be_had_on_a_phone_and_none_twice(count):
    frame = rows(count)
    app = page(frame)
    presses, before = 0, shown(app)
    assert before == list(frame["service"][:40])
    while app.button:
        (button,) = app.button
        more = int(button.label.split()[1].replace(",", ""))
        button.click().run()
        assert len(shown(app)) == len(before) + more
        before, presses = shown(app), presses + 1
    assert before == list(frame["service"])
    assert [one.value for one in app.caption] == [f"All {count:,} rows."]
    assert presses <= 5


def test_few_rows_have_no_button():
    app = page(rows(40))
    assert len(shown(app)) == 40
    assert not app.button
    assert not app.caption


def test_another_table_in_the_same_place_begins_with_few_cards():
    app = page(rows(100))
    app.button[0].click().run()
    assert len(shown(app)) == 80
    other = page(rows(200))
    other.session_state["cards_of_rates"] = app.session_state["cards_of_rates"]
    other.run()
    assert len(shown(other)) == 40


def test_a_card_has_its_less_read_facts_behind_more():
    frame = rows(2).assign(cost=[3.0, None], note=["dear", None])
    first, second = re.findall(r"<li>(.*?)</li>", cards(frame, {}, folded=("cost", "note")))
    shown_at_once, behind = first.split("<details>")
    assert "rate" in shown_at_once
    assert re.findall(r"<dt>(.*?)</dt>", behind) == ["cost", "note"]
    assert "<details>" not in second  # nothing is behind it
    assert "<details>" not in cards(frame, {})


def test_rows_are_as_high_as_the_longest_text_takes_up_to_some_lines():
    frame = pd.DataFrame({"note": ["short", None, "seven letters " * 3], "other": ["x" * 500, "", ""]})
    one = row_height_px(frame, {"note": 400})
    assert row_height_px(frame.head(2), {"note": 100}) == one
    assert row_height_px(frame, {"note": 116}) == one + 2 * LINE_PX  # 14 letters a line
    assert row_height_px(frame, {"note": 240}) == LEAST_WRAPPED_PX > one + LINE_PX
    assert row_height_px(frame, {"other": 116}) == one + (MOST_LINES - 1) * LINE_PX
    assert row_height_px(frame.head(0), {"note": 100}) == one


@pytest.mark.parametrize(("count", "behind"), [(3, 0), (4, 0), (5, 2), (40, 37)])
def test_all_cards_but_the_first_are_behind_one_press_where_that_saves_room(count, behind):
    html = cards(rows(count), {}, at_once=3)
    first, _, rest = html.partition("<details>")
    assert first.count("<li>") == count - behind
    assert rest.count("<li>") == behind
    assert (f"Show the other {behind}</summary>" in rest) == bool(behind)
    assert re.findall(r"<strong>(.*?)</strong>", html) == list(rows(count)["service"])


def test_a_card_can_be_called_by_more_than_its_first_column():
    frame = pd.DataFrame({"GPU": ["A30", "A30"], "partition": ["1g.6gb", None], "number": [1, 2]})
    html = cards(frame, {}, titles=2)
    assert re.findall(r"<strong>(.*?)</strong>", html) == ["A30, 1g.6gb", "A30"]
    assert "<dt>partition</dt>" not in html


def test_a_number_in_a_title_says_what_it_is_of():
    frame = pd.DataFrame({"block": [1, 2], "layers": ["1 to 3", "4"]})
    assert re.findall(r"<strong>(.*?)</strong>", cards(frame, {})) == ["block 1", "block 2"]
    worded = {"block": {"type_config": {"format": "number %d"}}}
    assert re.findall(r"<strong>(.*?)</strong>", cards(frame, worded)) == ["number 1", "number 2"]
    named = pd.DataFrame({"service": ["3d-search"], "rate": [1]})
    assert re.findall(r"<strong>(.*?)</strong>", cards(named, {})) == ["3d-search"]
