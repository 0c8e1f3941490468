"""Two tabs of one person's work: neither overwrites the other in silence, whatever each does; and a link asks first."""

import pytest
from streamlit.testing.v1 import AppTest
from support.app_screens import texts

from sliceplan.app.session.current import WORK
from sliceplan.app.session.drafts import Drafts
from sliceplan.app.session.links import Link, query_of
from sliceplan.app.session.snapshots import SessionSnapshots
from sliceplan.app.store.problems import load_problem, versions
from sliceplan.app.store.shared import shared_store
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.what_if import WhatIf


def _script():
    import streamlit as st

    from sliceplan.app.screens.link.question import asks_about_link
    from sliceplan.app.screens.workloads import screen as workloads
    from sliceplan.app.session.current import current_session, note_draft

    session = current_session("ann")
    st.session_state.is_asked = asks_about_link(session)
    if not st.session_state.is_asked:
        workloads.show(session)
    note_draft(session)


@pytest.fixture(autouse=True)
def server(tmp_path, monkeypatch):
    """A server of its own; called, it is started anew, with the drafts that the one before had written."""

    def start():
        monkeypatch.setattr("sliceplan.app.session.current.KEPT", SessionSnapshots())
        drafts = Drafts(tmp_path / "drafts")
        monkeypatch.setattr("sliceplan.app.session.current.drafts", lambda: drafts)
        return drafts

    start.drafts = start()
    return start


def tab(**query):
    """Opens a tab of the page at an address."""
    opened = AppTest.from_function(_script, default_timeout=30)
    for name, value in query.items():
        opened.query_params[name] = value
    return opened.run()


def session_of(tab):
    return tab.session_state["session"]


def rename(tab, name):
    tab.text_input(key=f"name_{session_of(tab).editor}").set_value(name).run()
    assert not tab.exception


def address_of(tab):
    return tab.session_state["token"]


def test_each_of_two_tabs_keeps_what_was_typed_into_it_over_a_restart_of_the_server(server):
    first = tab()
    rename(first, "one")
    second = tab(**{WORK: address_of(first)})
    assert session_of(second).tables.name == "one"
    assert address_of(second) != address_of(first)
    rename(second, "two")
    rename(first, "still-one")
    first.run()
    assert [session_of(one).tables.name for one in (first, second)] == ["still-one", "two"]
    server.drafts.written()
    server()
    again = [session_of(tab(**{WORK: address_of(one)})).tables.name for one in (first, second)]
    assert again == ["still-one", "two"]


def test_the_second_of_two_tabs_that_save_is_shown_the_others_version_and_overwrites_nothing():
    first = tab()
    suffix = f"{session_of(first).editor}_None"
    first.text_input(key=f"save_as_name_{suffix}").set_value("of-two-tabs")
    first.button(key=f"save_under_{suffix}").click().run()
    second = tab(**{WORK: address_of(first)})
    for one, field in ((first, 0.1), (second, 0.2)):
        one.number_input(key=f"headroom_{session_of(one).editor}").set_value(field).run()
        one.button(key="save_version").click().run()
        assert not one.exception
    assert "saved version 2" in texts(second.warning)
    assert "Yours is not saved yet; nothing is lost" in texts(second.warning)
    saved = versions(shared_store(), "of-two-tabs")
    assert len(saved) == 2
    assert load_problem(shared_store(), max(saved, key=lambda one: one.key.number).key).settings.headroom == 0.1
    assert session_of(second).problem.settings.headroom == 0.2


def link(name="mixed"):
    return query_of(Link(example_problems()[name], WhatIf(rate=2.0)))


def test_a_link_says_what_it_takes_the_place_of_and_opens_when_told_to():
    rename(tab(), "mine")
    asked = tab(**link())
    assert asked.session_state["is_asked"]
    said = texts(asked.markdown)
    for part in ("mine", "8 services: search-embedding", "A100-80GB", "mixed", "10 services: ", "rate x 2"):
        assert part in said, part
    assert session_of(asked).tables.name == "mine"
    asked.button(key="link_open").click().run()
    assert session_of(asked).problem == example_problems()["mixed"]
    assert session_of(asked).choices["what_if.changes"] == WhatIf(rate=2.0)
    asked.button(key="undo").click().run()
    assert session_of(asked).tables.name == "mine"


def test_who_stays_keeps_their_work_and_a_reload_does_not_ask_again():
    rename(tab(), "mine")
    asked = tab(**link())
    reloaded = tab(**{WORK: address_of(asked)})
    assert reloaded.session_state["is_asked"]
    reloaded.button(key="link_stay").click().run()
    assert not reloaded.session_state["is_asked"]
    assert session_of(tab(**{WORK: address_of(reloaded)})).tables.name == "mine"


def test_a_link_asks_nobody_who_has_no_other_work():
    assert not tab(**link()).session_state["is_asked"]
    first = tab()
    rename(first, "mine")
    own = query_of(Link(session_of(first).problem, WhatIf(rate=2.0)))
    assert not tab(**own).session_state["is_asked"]
    assert not tab(problem="nonsense").session_state["is_asked"]
