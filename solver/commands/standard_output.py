"""
How a command ends when the system refuses it something.

Of its standard output, a reader that goes away early is no error, and a full disk is one. A name of a file that the
system does not take (too long, in a folder that may not be looked into) is the user's, wherever it is found out.
"""

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import typer

from ..model.errors import Finding, InputError


def minding_its_output(command: Callable[..., None]) -> Callable[..., None]:
    """Returns the command, which writes out all that it printed before it ends, and says what it was refused."""

    @wraps(command)
    def minds(**arguments: Any) -> None:
        try:
            try:
                command(**arguments)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:
            _forget_the_rest()
            raise typer.Exit(0) from None
        except OSError as error:
            if error.filename is not None:  # a stream has none
                message = f"cannot be used: {error.strerror or error}"
                raise InputError([Finding(str(error.filename), "", message)]) from error
            _forget_the_rest()
            message = f"cannot be written: {error.strerror or error}"
            raise InputError([Finding("standard output", "", message)]) from error

    return minds


def _forget_the_rest() -> None:
    """Sends what is still to be written nowhere, so that the interpreter does not fail on it once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
