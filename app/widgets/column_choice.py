"""Choices of which column of a pasted table is what, and in which unit; what was found is chosen at first."""

from collections.abc import Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from sliceplan.app.session.column_choices import Asked, Choice, Header, asked_of

NOT_THERE = "(none)"


def choose_columns(header: Header, key: str) -> Mapping[str, Choice]:
    """Draws them, folded unless something is missing; returns by column what was chosen."""
    key = f"{key}_{abs(hash(header.cells)):x}"
    asked = asked_of(header)
    with st.expander("Which column is what", expanded=bool(header.problems or header.missing)):
        rows = st.container(key=f"beside_{key}")
        cells, units = rows.columns(len(asked)), rows.columns(len(asked))
        return {
            one.name: Choice(_choose_cell(cell_at, header, one, key), _choose_unit(unit_at, one, key))
            for one, cell_at, unit_at in zip(asked, cells, units, strict=True)
        }


def _choose_cell(place: DeltaGenerator, header: Header, asked: Asked, key: str) -> str:
    options = [NOT_THERE, *dict.fromkeys(cell for cell in header.cells if cell)]
    chosen = place.selectbox(
        asked.label, options, options.index(asked.cell) if asked.cell else 0, key=f"{key}_{asked.name}"
    )
    return "" if chosen == NOT_THERE else chosen


def _choose_unit(place: DeltaGenerator, asked: Asked, key: str) -> str:
    if not asked.units:
        return ""
    units = list(asked.units)
    return place.selectbox(
        asked.unit_label,
        units,
        units.index(asked.unit),
        format_func=asked.units.__getitem__,
        key=f"{key}_{asked.name}_unit",
    )
