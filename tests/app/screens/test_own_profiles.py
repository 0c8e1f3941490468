"""The dialog for profiles of one's own: what was read is drawn before it is used."""

import json
from dataclasses import replace

import pytest
from support.app_screens import screen, session_with, texts

from sliceplan.app.profiles.known import known_profiles
from sliceplan.app.screens.profiles.adding import FORMATS

ON_MIG = "model\tmig\tbatch\tlatency (ms)\nours\t1g.10gb\t1\t4.1\nours\t1g.10gb\t8\t11.3\nours\t2g.20gb\t8\t6.0"
ON_SHARES = "model\tshare\tbatch\tlatency (ms)\nours\t50\t1\t4.1\nours\t100\t1\t2.3\nours\t100\t8\t11.3"


DRAWN_ON_MIG = {"1g.10gb, measured": [4.1, 11.3], "2g.20gb, measured": [6.0]}
DRAWN_ON_SHARES = {"batch 1, measured": [4.1, 2.3], "batch 8, measured": [11.3]}


@pytest.mark.parametrize(("pasted", "lines"), [(ON_MIG, DRAWN_ON_MIG), (ON_SHARES, DRAWN_ON_SHARES)])
def test_what_was_read_is_drawn_as_curves_before_it_is_used(pasted, lines):
    page = screen("profiles", session_with("demo"))
    before = curves(page)
    page.session_state["profile_text"] = pasted
    page.button(key="add_profiles").click().run()
    assert not page.exception
    assert "Read as **a table of measurements**" in texts(page.markdown)
    (drawn,) = [one for one in curves(page) if one not in before]
    assert {line["name"]: line["y"] for line in drawn if line.get("name") in lines} == lines
    assert page.session_state["session"].tables.profiles == ()
    (rows,) = [one for one in page.dataframe if "ms per batch" in one.value.columns]
    shown = json.loads(rows.proto.columns)
    assert {name: shown[name]["type_config"]["format"] for name in FORMATS} == FORMATS


def test_a_press_on_remove_is_of_the_profile_that_was_seen_though_another_is_gone_by_then():
    session = session_with("demo")
    own = tuple(known_profiles()[:3])
    session.tables = replace(session.tables, profiles=own)
    page = screen("profiles", session)
    first, second, _ = buttons = [one for one in page.button if one.label == "Remove"]
    assert [one.help for one in buttons] == [f"Remove {one.model} on {one.gpu}" for one in own]
    first.click().run()
    page.button(key=second.key).click().run()  # what the browser presses that draws what was before
    assert page.session_state["session"].tables.profiles == own[2:]


def curves(page):
    return [json.loads(one.proto.spec)["data"] for one in page._tree if one.type == "plotly_chart"]
