"""Pictures on the page: each can be taken away as SVG or PNG from its corner."""

from html import escape
from typing import Any, Literal

import plotly.graph_objects as go
import streamlit as st

from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session

from .files import dated_name

FORMAT = Kept[Literal["svg", "png"]]("pictures.format")
"""Where the session keeps the chosen file format."""


SAVED_PX = 1280
"""Width of a file of a picture, however narrow the page is: names have room then."""


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
            "width": SAVED_PX,
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
    Draws a picture's legend in words above it, as wide as the page is, and shows the picture without its own.

    That one is at its foot (charts/legends.py); files of the picture have it.
    """
    meta: dict[str, Any] = figure.layout.meta or {}
    if not meta.get("legend"):
        return
    st.html(f'<ul class="swatches of-{name}">{"".join(_swatch(*one) for one in meta["legend"])}</ul>')
    whole_px = figure.layout.height
    shown_px = whole_px - meta["foot_px"]
    st.html(
        f"<style>.st-key-{name} {{ max-height: {shown_px}px; overflow: clip; }} "
        f".st-key-{name} > div, .st-key-{name} .stPlotlyChart {{ height: {whole_px}px; flex: none; }}</style>"
    )


def _swatch(name: str, colour: str, sign: str, key: str, ink: str) -> str:
    """
    Returns an entry of a legend; `name` is escaped, and may be of a script that is written from right to left.

    Its key is shown where in_browser/names_fill_their_bars.js needs one of the picture's.
    """
    looks = {"■": f"background:{escape(colour)}", "□": f"border:2px solid {escape(colour)}"}
    number = f'<b style="color:{ink}">{escape(key)}</b>' if key else ""
    sample = f'<i style="color:{escape(colour)}">{escape(sign)}</i>'
    if sign in looks:
        sample = f'<span style="{looks[sign]}">{number}</span>'
    return f"<li>{sample}<bdi>{name}</bdi></li>"


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
