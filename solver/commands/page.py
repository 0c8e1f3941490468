"""The command that opens the browser page."""

from pathlib import Path
from typing import Annotated

import typer

from .options import ProfilesOption


def ui(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port that the page listens on.")] = 8501,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
    address: Annotated[
        str, typer.Option(help="Address that the page listens on; one that other machines reach takes --access.")
    ] = "localhost",
    access: Annotated[
        Path | None,
        typer.Option(help="YAML file that says how people log in and who may save; without it, nobody logs in."),
    ] = None,
    profiles: ProfilesOption = None,
) -> None:
    """Open the planner in the browser (on localhost, or behind a login)."""
    from .web import serve

    serve(port, open_browser=browser, address=address, access=access, profiles=profiles or ())
