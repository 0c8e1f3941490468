"""The versions of a saved problem: open one, or restore it as the next."""

from functools import partial

import streamlit as st

from sliceplan.app.access import writing
from sliceplan.app.access.current import current_identity
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session, open_problem
from sliceplan.app.store.problems import versions
from sliceplan.app.store.records import Version, VersionKey
from sliceplan.app.store.shared import problem_at, shared_store
from sliceplan.app.tables.history import versions_table
from sliceplan.app.widgets.attempts import attempt
from sliceplan.app.widgets.tables import show_table
from sliceplan.app.widgets.texts import literal

from .choosing import COLUMNS, choose, say
from .costs import changed, costs_of, offer_costs

OF_VERSIONS = {
    # Its number alone would be a card's title on a phone.
    "version": st.column_config.NumberColumn("version", format="version %d"),
    "cost change": st.column_config.TextColumn("cost change", help="per hour, against the version before"),
    "what changed": st.column_config.TextColumn("what changed", help="against the version before"),
}

WRAPPED = {"cost change": 95, "what changed": 180, "note": 160, "from": 90}


def show(session: Session, name: str) -> None:
    """Draws the tab."""
    found = versions(shared_store(), name)
    costs = costs_of(session, name, found)
    differs = changed(found)
    table = versions_table(found, costs, differs)
    show_table(
        table, "saved_versions", columns=COLUMNS | OF_VERSIONS, wrapped=WRAPPED, placeholder="", key="saved_versions"
    )
    offer_costs(session, found, costs)
    by_key = {one.key: one for one in found}
    latest = found[0].key
    key = choose(
        session,
        f"history.version.{name}",
        "Version",
        list(by_key),
        words=lambda one: version_words(by_key[one]),
        start=latest,  # a new version is the one to look at
    )
    if said := differs.get(key.number):  # in the table there is no room for all of it
        st.caption(literal(f"Against the version before: {said}."))
    opening, restoring, _ = st.container(key="beside_versions").columns([1, 1, 2])
    if opening.button(
        "Open in the tables", key="open_version", width="stretch", help="Undo brings back what the tables hold now"
    ):
        attempt(partial(_open, session, key))
    why_not = "This is the latest version: choose an older one above." if key == latest else None
    why_not = why_not if current_identity().may_save else "Restoring needs the role editor."
    if restoring.button(
        f"Restore as version {latest.number + 1}",
        disabled=why_not is not None,
        key="restore_version",
        width="stretch",
        help=why_not or "Saves the chosen version again as the latest; those in between stay",
    ):
        attempt(partial(_restore, session, key, latest.number))
    if why_not:
        st.caption(why_not)


def version_words(version: Version) -> str:
    """Returns a version in a line."""
    note = f": {version.note}" if version.note else ""
    return f"{version.key.number} — {version.author}, {version.saved_at:%Y-%m-%d %H:%M} UTC{note}"


def _open(session: Session, key: VersionKey) -> None:
    open_problem(session, problem_at(shared_store(), key), key)
    say(session, f"{key} is open in Services and fleet.")


def _restore(session: Session, key: VersionKey, latest: int) -> None:
    made = writing.restore_version(
        shared_store(), key, parent=latest, by=current_identity(), note=f"restored from version {key.number}"
    )
    Kept[VersionKey](f"history.version.{key.document}").keep(session, made.key)
    say(
        session,
        f"Version {key.number} of {key.document} is back: it is saved again as version {made.key.number}, now the "
        "latest. Nothing was deleted. To go on working with it, press Open in the tables.",
    )
