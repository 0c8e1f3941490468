"""Words: what the page's words mean, to read or to look one up."""

import streamlit as st

from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.app.widgets.texts import literal
from sliceplan.app.widgets.words import GROUPS

ASKED = Kept[str]("words.asked")


def show(session: Session) -> None:
    """Draws the screen."""
    st.caption("What the words on these screens mean. The question marks beside them say the same.")
    typed = st.text_input(
        "Look up", value=ASKED.of(session, ""), key="words_asked", placeholder="A word, or a part of one"
    )
    ASKED.keep(session, typed)
    asked = typed.strip().lower()
    found = {
        group: {word: said for word, said in words.items() if asked in f"{word} {said}".lower()}
        for group, words in GROUPS.items()
    }
    if not any(found.values()):
        st.info("No such word here. The glossary in the documentation has more.")
    for group, words in found.items():
        if words:
            st.header(group)
            st.markdown("\n".join(f"- **{literal(word)}**: {literal(said)}" for word, said in words.items()))
