"""Which program made a plan: its name and version, as the installed package says them."""

from functools import cache
from importlib.metadata import version


@cache
def made_by() -> str:
    """Returns what a plan of this program says, as `sliceplan 0.2.0`."""
    return f"sliceplan {version('sliceplan')}"
