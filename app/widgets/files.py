"""Buttons that give files."""

from collections.abc import Callable
from pathlib import PurePath
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

KINDS = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".yaml": "application/yaml",
    ".zip": "application/zip",
}
"""The media type by the end of the file's name; of all others, plain text."""


def offer_file(
    label: str,
    contents: str | Callable[[], str | bytes],
    file_name: str,
    *,
    key: str,
    place: DeltaGenerator | None = None,
    help_text: str | None = None,
    width: Literal["stretch", "content"] = "stretch",
    disabled: bool = False,
) -> None:
    """
    Draws the button at a place, or where the page is; a function is called for the contents when it is pressed.

    A text is handed out then, too. A browser looks for a file that waits at an address as soon as the button is drawn,
    and by then another run of the page may have put one in its place.
    """
    (st if place is None else place).download_button(
        label,
        contents if callable(contents) else lambda: contents,
        file_name=file_name,
        mime=KINDS.get(PurePath(file_name).suffix, "text/plain"),
        key=key,
        on_click="ignore",
        width=width,
        help=help_text,
        disabled=disabled,
    )
