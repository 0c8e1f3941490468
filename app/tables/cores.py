"""Layers, blocks, schedulers and queries on the cores of one CPU, as tables."""

from collections.abc import Sequence
from math import isfinite

import pandas as pd

from sliceplan.solver.cores.blocks import Block
from sliceplan.solver.cores.one_second import Second
from sliceplan.solver.cores.quotas import Quotas
from sliceplan.solver.model.cores_report import CoresReport

PURPOSES = ("idle", "inefficient", "standing", "lost")
"""What cores do beside what queries need, in queries/s that it would carry."""


def layers_table(quotas: Quotas, names: Sequence[str]) -> pd.DataFrame:
    """Returns one row a layer: what it may take, and the least cores with which it does."""
    on_average = quotas.chain.us[:, quotas.index_of(quotas.average)] / 1000
    rows = {
        "layer": range(1, len(names) + 1),
        "name": list(names),
        "may take (ms)": quotas.quota_us / 1000,
        "needs (cores)": quotas.need,
        "on the average (ms)": on_average,
    }
    return pd.DataFrame(rows)


def blocks_table(quotas: Quotas, cut: Sequence[Block]) -> pd.DataFrame:
    """Returns one row a block: its layers, cores and time."""
    before = quotas.chain.before_us
    rows = [
        {
            "block": number,
            "layers": f"{one.first + 1} to {one.end}" if one.end - one.first > 1 else f"{one.end}",
            "cores": one.cores,
            "takes (ms)": float((before[one.end] - before[one.first])[quotas.index_of(one.cores)]) / 1000,
        }
        for number, one in enumerate(cut, 1)
    ]
    return pd.DataFrame(rows)


def rates_table(report: CoresReport) -> pd.DataFrame:
    """Returns one row a scheduler: what it carries, and where the rest of the cores' time goes."""
    rows = [
        {
            "scheduler": one.scheduler,
            "queries/s": one.rps,
            "of the bound": None if one.of_bound is None else 100 * one.of_bound,
            **{name: None if one.spent is None else getattr(one.spent, name) for name in PURPOSES},
        }
        for one in report.schedulers
    ]
    return pd.DataFrame(rows).astype(dict.fromkeys(("queries/s", "of the bound", *PURPOSES), "float64"))


def queries_table(second: Second) -> pd.DataFrame:
    """Returns one row a query that had cores in the second; times in ms from its beginning."""
    most: dict[int, int] = {}
    for place in second.places:
        most[place.span.query] = max(most.get(place.span.query, 0), len(place.cores))
    rows = [
        {
            "query": one.number,
            "came (ms)": one.came_ms,
            "took (ms)": one.ended_ms - one.came_ms if isfinite(one.ended_ms) else None,
            "most cores": most[one.number],
            "in time": "no" if one.is_late else "yes",
        }
        for one in second.queries
    ]
    columns = ["query", "came (ms)", "took (ms)", "most cores", "in time"]
    return pd.DataFrame(rows, columns=columns).astype({"took (ms)": "float64"})
