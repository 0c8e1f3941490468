"""Something that may be refused: done and the page drawn anew, or the reason shown where it was asked for."""

from collections.abc import Callable

import streamlit as st

from sliceplan.solver.model.errors import InputError, SliceplanError

from .texts import literal


def attempt(what: Callable[[], object]) -> None:
    """Does something and draws the page anew; what sliceplan refuses is said right here instead."""
    try:
        what()
    except SliceplanError as error:
        st.error(literal(plain(error)))
    else:
        st.rerun()


def plain(error: SliceplanError) -> str:
    """Returns an error's words without the file name that findings begin with."""
    if isinstance(error, InputError):
        return "; ".join(f"{one.path} {one.message}".strip() for one in error.findings)
    return str(error)
