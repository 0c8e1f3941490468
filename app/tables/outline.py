"""What a problem is in a few lines: enough to tell whether it is the one that somebody means."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from sliceplan.solver.model.problem import Settings
from sliceplan.solver.model.words import counted

from .labels import SETTINGS

NAMED = 3
"""Services that are called by their names."""

SAID = frozenset({"objective", "latency", "quantile", "slo_fraction", "headroom"})
"""Settings that are said in words, each where it counts; of the others only how many are not as usual."""


def services_in_words(workloads: pd.DataFrame) -> str:
    """Returns how many services a table has, and the first ones' names; rows without a name are counted too."""
    names = [str(name) for name in workloads["name"].dropna()]
    if not names:
        return counted(len(workloads), "service")
    more = len(workloads) - len(names[:NAMED])
    listed = ", ".join(names[:NAMED]) + (f" and {more:,} more" if more else "")
    return f"{counted(len(workloads), 'service')}: {listed}"


def fleet_in_words(fleet: pd.DataFrame) -> str:
    """Returns the GPU types of a table and how many of each there are: `6 A100-80GB, any number of T4`."""
    return ", ".join(_entries(fleet)) or "no GPUs"


def _entries(fleet: pd.DataFrame) -> Iterator[str]:
    for gpu, count in zip(fleet["gpu"], fleet["count"], strict=True):
        if not pd.isna(gpu):
            yield f"any number of {gpu}" if pd.isna(count) else f"{count:,g} {gpu}"


def settings_in_words(settings: Mapping[str, Any]) -> str:
    """
    Returns what a problem aims for and what it promises, and how many other settings are not as usual.

    Parameters
    ----------
    settings
        By the fields of Settings.
    """
    aim = SETTINGS["objective"].values[settings["objective"]]
    said = [aim[0].lower() + aim[1:], promise_in_outline(settings)]
    if settings["headroom"]:
        said.append(f"{_percent(settings['headroom'])} headroom")
    fields = Settings.model_fields
    others = sum(value != fields[name].default for name, value in settings.items() if name not in SAID)
    return ", ".join(said) + (f"; {counted(others, 'other')} not as usual" if others else "")


def promise_in_outline(settings: Mapping[str, Any]) -> str:
    """Returns how many of the requests are to be within their SLO, or how much of it a batch may take."""
    match settings["latency"]:
        case "percentile":
            return f"{_percent(settings['quantile'])} of requests in time"
        case "execution":
            return f"batches within {_percent(settings['slo_fraction'])} of the SLO, late requests not planned for"
    return "all requests in time if evenly spaced"


def _percent(value: float) -> str:
    return f"{100 * value:.10g} %"
