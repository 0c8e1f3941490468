"""The command that opens the browser page."""

from typing import Annotated

import typer


def ui(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on localhost.")] = 8501,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
) -> None:
    """Open the planner in the browser (bound to localhost)."""
    from ..web import serve

    serve(port, open_browser=browser)
