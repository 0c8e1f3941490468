"""Services whose models nobody measured here: planned as a known model of about their size, or left out."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

import pandas as pd
import streamlit as st

from sliceplan.app.session.leading import lead_to
from sliceplan.app.session.session import Session
from sliceplan.app.session.stand_ins import StandIn
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.model.lists import few

LEFT_OUT = "leave its services out"

MOST_ASKED = 12
"""Unknown models of which it is asked; a table of more is rather given profiles first."""


def choose_for_unknown(
    session: Session, gpu: str, models: Sequence[str], rows: pd.DataFrame
) -> tuple[pd.DataFrame, tuple[StandIn, ...]] | None:
    """
    Asks for a known model for each unknown one; returns the rows with these, and which rows have them.

    None: something is not chosen yet.

    Parameters
    ----------
    models
        Those that are known on the GPU type, `gpu`.
    """
    unknown = unknown_in(rows, models)
    if not unknown:
        return rows, ()
    st.warning(
        f"How fast {literal(few(unknown))} {'is' if len(unknown) == 1 else 'are'} on {literal(gpu)} is not known. "
        "Choose a known model of about the same size for a first plan, or bring measurements of your own for one to "
        "rely on."
    )
    chosen: dict[str, str] = {}
    for model in unknown[:MOST_ASKED]:
        near = nearest(model, models)
        options = [*models, LEFT_OUT]
        answer = st.selectbox(
            literal(f"{model} is planned as"),
            options,
            index=None if near is None else options.index(near),
            placeholder="Choose a model of about its size, or leave it out",
            key=f"own_as_{gpu}_{model}",
        )
        if answer is not None:
            chosen[model] = answer
    if st.button("Bring measurements of my own", key="own_measurements"):
        lead_to(session, "profiles")
        st.rerun()
    if len(chosen) < len(unknown):
        return None
    return with_known(rows, chosen), stand_ins_of(rows, chosen)


def stand_ins_of(rows: pd.DataFrame, chosen: Mapping[str, str]) -> tuple[StandIn, ...]:
    """Returns the services that get another model than theirs; `chosen`: by model."""
    there = rows[rows["model"].isin([model for model, planned_as in chosen.items() if planned_as != LEFT_OUT])]
    return tuple(
        StandIn(str(name), model, chosen[model]) for name, model in zip(there["name"], there["model"], strict=True)
    )


def unknown_in(rows: pd.DataFrame, models: Sequence[str]) -> list[str]:
    """Returns the models of services that are not known, in their order."""
    return list(dict.fromkeys(one for one in rows["model"] if isinstance(one, str) and one and one not in models))


def nearest(model: str, models: Sequence[str]) -> str | None:
    """Returns the known model whose name is most like this one; None: none is like it."""
    folded = {one.casefold(): one for one in models}
    near = get_close_matches(model.casefold(), folded, n=1)
    return folded[near[0]] if near else None


def with_known(rows: pd.DataFrame, chosen: Mapping[str, str]) -> pd.DataFrame:
    """Returns rows with the models that were chosen, without those that are left out."""
    changed = rows.assign(model=rows["model"].map(lambda model: chosen.get(model, model)))
    return changed[changed["model"] != LEFT_OUT].reset_index(drop=True)
