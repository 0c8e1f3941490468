"""The settings: what to aim for, what is promised, how requests are served, and when the search may end."""

from typing import Any, get_args

import streamlit as st

from sliceplan.app.session.session import Session
from sliceplan.app.tables.labels import SETTINGS, Label
from sliceplan.app.tables.outline import settings_in_words
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.model.problem import Settings

from .editors import note_edit, start_of

IN_A_ROW = 3

GROUPS = {
    "Aim": ("objective", "capacity_weights"),
    "Promise": ("latency", "quantile", "slo_fraction", "dispatch", "process_queues"),
    "How services run": ("max_processes", "turns", "mps_rules", "bda"),
    "What is kept free": ("headroom", "spare_services", "spare_rate", "spare_gpu_loss", "shadow_percent"),
    "Search": ("time_limit_s", "gap"),
}
"""The settings by what they decide, those that most people change first."""

UNWEIGHTED = Settings.model_fields["capacity_weights"].default
"""Where requests/s are not the aim, nothing weighs them."""


def edit_settings(session: Session) -> None:
    """Draws the settings of the problem."""
    values, number = start_of(session).settings, session.editor
    with st.expander(literal(f"Settings: {settings_in_words(session.tables.settings)}"), key="fold_settings"):
        for title, names in GROUPS.items():
            st.markdown(f"**{title}**")
            columns: list[Any] = []
            for name in names:
                columns = columns or list(st.columns(IN_A_ROW))
                column = columns.pop(0)
                _ask(column, session, name, SETTINGS[name], values[name], number)
                if name == "slo_fraction" and session.tables.settings["latency"] != "execution":
                    column.caption("Not what is promised here: only published planners go by it.")


def _ask(place: Any, session: Session, name: str, label: Label, value: Any, number: int) -> None:
    key = f"{name}_{number}"
    told: dict[str, Any] = {
        "help": label.meaning,
        "key": key,
        "on_change": _note_setting,
        "args": (session, number, name, key),
    }
    if options := get_args(Settings.model_fields[name].annotation):
        place.selectbox(
            label.text,
            options,
            options.index(value),
            format_func=label.values.__getitem__,
            disabled=name == "capacity_weights" and session.tables.settings["objective"] != "capacity",
            **told,
        )
    elif isinstance(value, bool):
        place.checkbox(label.text, value=value, **told)
    else:
        place.number_input(label.text, value=value, **_written(value), **told)


def _written(value: float) -> dict[str, Any]:
    """Returns the step of a setting's field, and how its number is written: with all of its digits."""
    if isinstance(value, int):
        return {"step": 1}
    return {"step": 0.01 if value < 0.1 else 0.05 if value < 1 else 5.0, "format": "%g"}


def _note_setting(session: Session, number: int, name: str, key: str) -> None:
    settings = {**session.tables.settings, name: st.session_state[key]}
    if settings["objective"] != "capacity" and settings["capacity_weights"] != UNWEIGHTED:
        settings["capacity_weights"] = st.session_state[f"capacity_weights_{number}"] = UNWEIGHTED
    note_edit(session, number, settings=settings)
