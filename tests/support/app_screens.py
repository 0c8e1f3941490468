"""Runs one screen of the page by Streamlit's own test driver, with the sidebar and a session as the page gives them."""

import re

from streamlit.testing.v1 import AppTest

from sliceplan.app.jobs.jobs import shared_jobs
from sliceplan.app.session.current import new_session
from sliceplan.app.session.session import open_problem
from sliceplan.solver.formats.problem_files import example_problems


def _script():
    import importlib

    import streamlit as st

    from sliceplan.app.session.current import current_session
    from sliceplan.app.widgets.actions import show_actions

    session = current_session("local")
    with st.sidebar:
        show_actions(session)
    importlib.import_module(f"sliceplan.app.screens.{st.session_state['screen']}.screen").show(session)


def screen(name, session=None):
    """Opens a screen; the session begins with the demo unless one is given."""
    page = AppTest.from_function(_script, default_timeout=60)
    page.session_state["screen"] = name
    page.session_state["session"] = session or new_session("local")
    page.session_state["token"] = "tests"
    return page.run()


def session_with(problem):
    """A session that works on a problem, or on an example by its name."""
    session = new_session("local")
    open_problem(session, example_problems()[problem] if isinstance(problem, str) else problem)
    return session


def press(page, key):
    """Presses a button and waits for what it began."""
    page.button(key=key).click().run()
    return settled(page)


def settled(page):
    """Waits for all work under way, and runs the page with its results."""
    for job in list(page.session_state["session"].open_jobs.values()):
        shared_jobs().result(job.id, 60)
    return page.run()


def switch(page, name):
    """Goes to another screen of the same session."""
    page.session_state["screen"] = name
    page.session_state["session"].editor += 1
    return page.run()


def texts(elements):
    """All texts of some elements in one, as one reads them: without what only makes them literal for Markdown."""
    shown = " ".join(str(element.value) for element in elements)
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", shown).replace("\u2060", "")


def fold(page, title):
    """Returns the one fold whose title begins so."""
    (found,) = [one for one in page.expander if one.label.startswith(title)]
    return found
