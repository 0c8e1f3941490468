"""Pictures on the page: each can be taken away as SVG or PNG from its corner."""

from typing import Literal

import plotly.graph_objects as go
import streamlit as st

from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session

FORMAT = Kept[Literal["svg", "png"]]("pictures.format")
"""Where the session keeps the chosen file format."""


def show_picture(session: Session, figure: go.Figure, name: str) -> None:
    """Draws a figure; `name` is its widget key and the name of the file that it is taken away as."""
    kind: Literal["svg", "png"] = FORMAT.of(session, "svg")
    config = {
        "displaylogo": False,
        "displayModeBar": True,
        "modeBarButtons": [["toImage"]],
        "toImageButtonOptions": {"format": kind, "filename": name, "scale": 2 if kind == "png" else 1},
    }
    st.plotly_chart(figure, width="stretch", key=name, config=config)


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
