"""
A SQLite file that is still the one that was opened.

SQLite goes on writing into a file that was deleted, which nobody finds again, and makes an empty one where none is.
So the file is looked at before each transaction: one that is gone, or empty, is an error; where another one was put in
its place, as from a backup, that one is opened.
"""

from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.exc import DisconnectionError

from .errors import GoneError
from .location import shown

FILE = "sliceplan_file"
"""Where a connection of the pool keeps which file it is on."""


def watch(store: Engine, path: Path) -> None:
    """Has every transaction of a store that is open by now look at its file first."""

    def found() -> tuple[int, int]:
        try:
            status = path.stat()
        except OSError as error:
            raise _gone(store, f"is gone ({error.strerror})") from error
        if status.st_size == 0:
            raise _gone(store, "was emptied")
        return status.st_dev, status.st_ino

    @event.listens_for(store, "do_connect")
    def _is_there(*_: Any) -> None:
        found()

    @event.listens_for(store, "connect")
    def _note(_connection: Any, record: Any) -> None:
        record.info[FILE] = found()

    @event.listens_for(store, "checkout")
    def _is_the_same(_connection: Any, record: Any, _proxy: Any) -> None:
        if record.info.setdefault(FILE, found()) != found():
            raise DisconnectionError(f"{path} is another file now")


def _gone(store: Engine, what: str) -> GoneError:
    return GoneError(
        f"{shown(store.url)} {what} since the page was started; no empty one is made in its place. Put it back, and "
        "all is as before; or start the page anew for a new one. What you work on can be downloaded"
    )
