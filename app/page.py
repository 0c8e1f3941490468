"""The planner in the browser: who is there, what they work on, and which screen they look at. Holds no algorithm."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from sliceplan.app.access.identity import Identity
from sliceplan.app.jobs.jobs import make_jobs_soon
from sliceplan.app.screens.compare import screen as compare
from sliceplan.app.screens.fragmentation import screen as fragmentation
from sliceplan.app.screens.history import screen as history
from sliceplan.app.screens.link.question import asks_about_link
from sliceplan.app.screens.plan import screen as plan
from sliceplan.app.screens.profiles import screen as profiles
from sliceplan.app.screens.start import screen as start
from sliceplan.app.screens.start.address import PATH as START
from sliceplan.app.screens.transition import screen as transition
from sliceplan.app.screens.what_if import screen as what_if
from sliceplan.app.screens.will_it_hold import screen as will_it_hold
from sliceplan.app.screens.words import screen as words
from sliceplan.app.screens.workloads import screen as workloads
from sliceplan.app.session.current import BROKEN_LINK, NOT_KEPT, RESTORED, current_session, note_draft
from sliceplan.app.session.leading import DRAWN, Screen, asked_for, lead_to, leads_from
from sliceplan.app.session.session import Session
from sliceplan.app.widgets.actions import asks_to_solve, show_actions
from sliceplan.app.widgets.dialogs import none_is_open
from sliceplan.app.widgets.login import admitted, show_identity
from sliceplan.app.widgets.pictures import choose_picture_format
from sliceplan.app.widgets.texts import listed

ICON = Path(__file__).with_name("icon.svg")
STYLE = Path(__file__).with_name("page.css")
IN_BROWSER = sorted(Path(__file__).with_name("in_browser").glob("*.js"))
PROGRAMS = "".join(f"<script>{one.read_text(encoding='utf-8')}</script>" for one in IN_BROWSER)
"""What Streamlit's program in the browser does not do, one thing a file."""

WITHOUT_ANSWER = ("", "workloads")
"""Paths of the screens that state a problem: a press on Solve leads from them to the plan."""

Show = Callable[[Session], None]


def draw_page() -> None:
    """Draws the page."""
    st.set_page_config(page_title="sliceplan", page_icon=str(ICON), layout="wide")
    st.html(STYLE)
    with st.container(key="programs"):
        st.html(PROGRAMS, unsafe_allow_javascript=True)
    identity = admitted()
    if identity is None:
        return
    session = current_session(identity.user)
    try:
        _draw(session, identity)
    finally:
        note_draft(session)


@st.fragment(run_every=3600.0)
def _draw_again_when_connected_again() -> None:
    """Draws nothing; Streamlit's program in the browser asks for the page again only where something runs by itself."""


def _draw(session: Session, identity: Identity) -> None:
    none_is_open(session)

    def page(show: Show, title: str, path: str, icon: str, *, default: bool = False) -> StreamlitPage:
        def draw() -> None:
            show(session)

        return st.Page(draw, title=title, url_path=path, icon=f":material/{icon}:", default=default)

    pages = [
        page(start.show, "Start", START, "home", default=True),
        page(workloads.show, "Services and fleet", "workloads", "table"),
        page(plan.show, "Plan", "plan", "view_week"),
        page(will_it_hold.show, "Will it hold?", "will-it-hold", "timer"),
        page(compare.show, "Compare", "compare", "bar_chart"),
        page(what_if.show, "What-if", "what-if", "tune"),
        page(fragmentation.show, "Fragmentation", "fragmentation", "grid_on"),
        page(transition.show, "Transition", "transition", "moving"),
        page(profiles.show, "Profiles", "profiles", "show_chart"),
        page(history.show, "History", "history", "history"),
        page(words.show, "Words", "words", "menu_book"),
    ]
    chosen = st.navigation(pages)
    if asks_about_link(session):
        return
    last = DRAWN.of(session)
    DRAWN.keep(session, Screen(chosen.url_path, asked_for()))
    if last is None or last.path != chosen.url_path:
        session.editor += 1
    if chosen.url_path in WITHOUT_ANSWER and asks_to_solve(session):
        lead_to(session, "plan")
    with st.sidebar:
        show_actions(session)
        choose_picture_format(session)
        show_identity(identity)
        _draw_again_when_connected_again()
    following = leads_from(session, chosen.url_path)
    if following is not None:
        st.switch_page(next(one for one in pages if one.url_path == following))
    if (broken := BROKEN_LINK.of(session)) is not None:
        why = listed(broken.splitlines())
        st.error(f"The link could not be opened, so this is the usual page.\n\n{why}")
    if NOT_KEPT.of(session) and not session.past:
        st.warning(
            "The work that this address names is not here: the planner was started again since, or it is somebody "
            "else's. This is the usual page; what was saved is in *History*."
        )
    if RESTORED.of(session) and not session.past:
        st.info("The planner was started again. This is what you worked on; undo begins here.")
    st.title("sliceplan" if chosen is pages[0] else chosen.title)
    chosen.run()
    make_jobs_soon()
