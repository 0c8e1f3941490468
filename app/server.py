"""
Streamlit's server behind the page's own rules (access/guarding.py).

All of the page is loaded before it listens: nobody who opens the page waits for that.
"""

import gc
import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from starlette.middleware import Middleware
from streamlit.web.cli import main
from streamlit.web.server.starlette import starlette_app

from sliceplan.app.access.guarding import Guard
from sliceplan.app.access.policy import read_access
from sliceplan.app.access.starting import ACCESS
from sliceplan.app.access.uploads import uploads_of_streamlit
from sliceplan.app.screens.start.address import StartAddress
from sliceplan.app.session.drafts import keep_drafts
from sliceplan.app.store.drafts import drafts_folder
from sliceplan.app.store.errors import StoreError

NEW_OBJECTS = 20_000
"""Objects after which Python's collector looks at the young ones; 700 unless told, dozens of times a drawn page."""


def guard_the_server() -> None:
    """Puts the rules before everything that Streamlit does with a request."""
    stated = os.environ.get(ACCESS)
    hosts = read_access(Path(stated)).hosts if stated else ()
    streamlit_s = starlette_app.create_streamlit_middleware

    def guarded() -> list[Middleware]:
        guard = Middleware(Guard, uploads=uploads_of_streamlit(), hosts=hosts)
        return [guard, Middleware(StartAddress), *streamlit_s()]

    starlette_app.create_streamlit_middleware = guarded


def collect_seldom() -> None:
    """Lets more objects come before the collector looks at them: plans are thousands, and none is in a cycle."""
    gc.set_threshold(NEW_OBJECTS)


def keep_work_beyond_restarts() -> None:
    """Has drafts written beside the store; where it has a wrong address, which the page tells, there are none."""
    with suppress(StoreError):
        keep_drafts(drafts_folder())


if __name__ == "__main__":
    import_module("sliceplan.app.jobs.demo_plan").plan_the_demo()  # by a worker, while the page is loaded here
    import_module("sliceplan.app.page")
    collect_seldom()
    guard_the_server()
    keep_work_beyond_restarts()
    main(prog_name="streamlit")
