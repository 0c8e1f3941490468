"""What a problem is in a few lines: enough to tell whether it is the one that somebody means."""

from collections.abc import Iterator

import pandas as pd

from sliceplan.solver.model.words import counted

NAMED = 3
"""Services that are called by their names."""


def services_in_words(workloads: pd.DataFrame) -> str:
    """Returns how many services a table has, and the first ones' names; rows without a name are counted too."""
    names = [str(name) for name in workloads["name"].dropna()]
    if not names:
        return counted(len(workloads), "service")
    more = len(workloads) - len(names[:NAMED])
    listed = ", ".join(names[:NAMED]) + (f" and {more:,} more" if more else "")
    return f"{counted(len(workloads), 'service')}: {listed}"


def fleet_in_words(fleet: pd.DataFrame) -> str:
    """Returns the GPU types of a table and how many of each there are."""
    return ", ".join(_entries(fleet)) or "no GPUs"


def _entries(fleet: pd.DataFrame) -> Iterator[str]:
    for gpu, count in zip(fleet["gpu"], fleet["count"], strict=True):
        if not pd.isna(gpu):
            yield f"{gpu}" if pd.isna(count) else f"{count:,g} x {gpu}"
