"""Pictures on the page: each can be taken away as SVG or PNG from its corner."""

from html import escape
from typing import Any, Literal

import plotly.graph_objects as go
import streamlit as st

from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.solver.model.errors import printable

from .files import dated_name

FORMAT = Kept[Literal["svg", "png"]]("pictures.format")
"""Where the session keeps the chosen file format."""


def show_picture(session: Session, figure: go.Figure, name: str, *, can_pick: bool = False) -> list[int]:
    """
    Draws a figure, and returns the numbers of the points of its first trace that were clicked.

    Parameters
    ----------
    name
        Its widget key; the file that it is taken away as is called by the problem, this and the date.
    can_pick
        Whether a click picks a point; else none is ever picked.
    """
    kind: Literal["svg", "png"] = FORMAT.of(session, "svg")
    config = {
        "displaylogo": False,
        "displayModeBar": True,
        "modeBarButtons": [["toImage"]],
        "toImageButtonOptions": {
            "format": kind,
            "filename": dated_name(session.tables.name, name),
            "scale": 2 if kind == "png" else 1,
        },
    }
    _legend_above(figure, name)
    if not can_pick:
        st.plotly_chart(figure, width="stretch", key=name, config=config)
        return []
    picked: Any = st.plotly_chart(
        figure, width="stretch", key=name, config=config, on_select="rerun", selection_mode="points"
    )
    return [point["point_index"] for point in picked["selection"]["points"] if point.get("curve_number") == 0]


def _legend_above(figure: go.Figure, name: str) -> None:
    """
    Draws the legend of GPUs' picture in words above it, as wide as the page is, and shows the picture without its own.

    That one is at its foot, and as wide as the picture was when it was first drawn; files of the picture have it.
    """
    samples = [trace for trace in figure.data if trace.name and _is_sample(trace)]
    if not samples:
        return
    st.html(f'<ul class="swatches">{"".join(map(_swatch, samples))}</ul>')
    whole_px = figure.layout.height
    shown_px = whole_px - figure.layout.margin.b
    st.html(
        f"<style>.st-key-{name} {{ max-height: {shown_px}px; overflow: clip; }} "
        f".st-key-{name} > div, .st-key-{name} .stPlotlyChart {{ height: {whole_px}px; flex: none; }}</style>"
    )


def _swatch(sample: Any) -> str:
    marker = sample.marker
    border = f"; border: 2px solid {escape(marker.line.color)}" if marker.line.width[0] else ""
    return (
        f'<li><span style="background:{escape(marker.color[0])}{border}"></span>{escape(printable(sample.name))}</li>'
    )


def _is_sample(trace: Any) -> bool:
    """Tells whether a trace is there for the legend alone."""
    return trace.type == "bar" and trace.x is not None and tuple(trace.x) == (None,)


def choose_picture_format(session: Session) -> None:
    """Lets the user choose what pictures are taken away as."""
    formats: tuple[Literal["svg", "png"], ...] = ("svg", "png")
    chosen: Literal["svg", "png"] = (
        st.segmented_control(
            "Pictures are saved as",
            formats,
            default=FORMAT.of(session, "svg"),
            format_func=str.upper,
            key="picture_format",
            help="Each picture has a camera in its corner, each table a download button.",
        )
        or "svg"
    )
    FORMAT.keep(session, chosen)
