"""What differs between any two saved versions, or any two saved plans."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pandas as pd
import streamlit as st

from sliceplan.app.session.session import Session
from sliceplan.app.store.plans import load_plan, plans
from sliceplan.app.store.problems import problems, versions
from sliceplan.app.store.records import VersionKey
from sliceplan.app.store.shared import problem_at, shared_store
from sliceplan.app.tables.history import CHANGES_WRAPPED, changes_table, plan_changes_table
from sliceplan.app.widgets.tables import show_table
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.differences.change import Change
from sliceplan.solver.differences.plans import difference
from sliceplan.solver.differences.problems import changes
from sliceplan.solver.differences.wording import describe_changes, describe_plans
from sliceplan.solver.model.labels import labels_of_both
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.wording.shown_names import as_shown

from .choosing import choose, choose_part
from .plans import plan_words
from .versions import version_words

OF_VERSIONS, OF_PLANS = "Two versions", "Two plans"


def show(session: Session, name: str) -> None:
    """Draws the tab."""
    kind = choose_part(session, "history.compare", [OF_VERSIONS, OF_PLANS])
    before, after = st.columns(2)
    with before:
        old_name = _choose_problem(session, "before", name)
    with after:
        new_name = _choose_problem(session, "after", name)
    if kind == OF_VERSIONS:
        with before:
            old = _choose_version(session, "before", old_name, 1)
        with after:
            new = _choose_version(session, "after", new_name, 0)
        store = shared_store()
        if old == new:
            st.info("This is the same version twice. Choose another one; each save of a changed problem adds one.")
            return
        was, now = problem_at(store, old), problem_at(store, new)
        found = _called(changes(was, now), labels_of_both(was, now))
        title = f"From {old} to {new}"
        if old_name == new_name:
            title = f"{old_name}: from version {old.number} to version {new.number}"
        _show(title, describe_changes(found), changes_table(found))
        return
    with before:
        old_plan = _choose_plan(session, "before", old_name, 1)
    with after:
        new_plan = _choose_plan(session, "after", new_name, 0)
    if old_plan is None or new_plan is None:
        st.info("This problem has no saved plans to compare. Press *Save plan* on *Services and fleet*.")
        return
    store = shared_store()
    between = difference(_plan(old_name, old_plan), _plan(new_name, new_plan))
    _show(f"From plan {old_plan} to plan {new_plan}", describe_plans(between), plan_changes_table(between))


def _choose_problem(session: Session, side: str, name: str) -> str:
    names = [one.name for one in problems(shared_store())]
    names = names if name in names else [name, *names]
    if len(names) == 1:
        return name
    # Another problem above begins a comparison within that one.
    return choose(session, f"history.{side}.problem.{name}", f"Problem {side}", names, start=name)


def _choose_version(session: Session, side: str, name: str, place: int) -> VersionKey:
    by_key = {one.key: one for one in versions(shared_store(), name)}
    start = list(by_key)[min(place, len(by_key) - 1)]
    return choose(
        session,
        f"history.{side}.version.{name}",
        f"Version {side}",
        list(by_key),
        words=lambda one: version_words(by_key[one]),
        start=start,
    )


def _choose_plan(session: Session, side: str, name: str, place: int) -> int | None:
    by_id = {one.id: one for one in plans(shared_store(), name)}
    if not by_id:
        return None
    start = list(by_id)[min(place, len(by_id) - 1)]
    return choose(
        session,
        f"history.{side}.plan.{name}",
        f"Plan {side}",
        list(by_id),
        words=lambda one: plan_words(by_id[one]),
        start=start,
    )


def _called(found: Iterable[Change], labels: Mapping[str, str]) -> list[Change]:
    """Returns changes with services called as people call them; their names are among what is said of them."""
    return [
        replace(one, path=(one.path[0], labels.get(one.path[1], one.path[1]), *one.path[2:]))
        if one.path[0] == "workloads" and len(one.path) > 1
        else one
        for one in found
    ]


def _plan(name: str, number: int) -> Plan:
    """Returns a saved plan with services called as its problem has it."""
    store = shared_store()
    version = next(one.problem for one in plans(store, name) if one.id == number)
    return as_shown(load_plan(store, number), problem_at(store, version).labels)


def _show(title: str, words: str, table: pd.DataFrame) -> None:
    st.header(literal(title))
    if table.empty:
        st.success("They are the same.")
        return
    show_table(table, "differences", wrapped=CHANGES_WRAPPED, titles=2, key="differences")
    with st.expander("As text, for a ticket"):
        st.code(words, language=None, wrap_lines=True)
