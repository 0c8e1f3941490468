"""Buttons that give files, and what the files are called."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
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


NOT_IN_NAMES = re.compile(r'[\s\\/:*?"<>|\x00-\x1f]+')
"""What one file system or another refuses in a name, and spaces."""


def dated_name(problem: str, what: str, made_on: date | None = None) -> str:
    """
    Returns the name of a file that tells what it belongs to and when it was taken.

    Parameters
    ----------
    problem
        The problem's name.
    what
        What the file is, with its ending: `plan.json`, or `demo.plan.json`, gives `demo-plan-2026-03-01.json`.
        Without an ending there is none in the name.
    made_on
        None: today, in UTC.
    """
    of = NOT_IN_NAMES.sub("-", problem).strip("-.") or "problem"
    kind = PurePath(what.removeprefix(f"{problem}."))
    return f"{of}-{kind.stem}-{made_on or datetime.now(UTC).date():%Y-%m-%d}{kind.suffix}"


def offer_file(
    label: str,
    contents: str | Callable[[], str | bytes],
    problem: str,
    what: str,
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
    and by then another run of the page may have put one in its place. The file is called what `dated_name` makes of
    the problem's name and of what it is.
    """
    (st if place is None else place).download_button(
        label,
        contents if callable(contents) else lambda: contents,
        file_name=dated_name(problem, what),
        mime=KINDS.get(PurePath(what).suffix, "text/plain"),
        key=key,
        on_click="ignore",
        width=width,
        help=help_text,
        disabled=disabled,
    )
