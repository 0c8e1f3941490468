"""
Whether counted GPUs, of which some are shared by MPS, carry given rates at all: a proof that they do not.

Where a request/s counts nothing, every plan has 0, and so every limit of prices.py is at least 0 if there is a plan. A
limit below 0 proves that there is none. Good prices are those of the linear program over known contents that goes
without as little as it can (asked_rows.py): if parts of contents carry the rates there are no such prices, and what
whole ones do is not decided here. Else contents that are worth more at its prices join, until the limit is below 0.
"""

import time

import numpy as np

from ...performance.resolve import ResolvedProblem
from .asked_rows import AskedRows
from .known import KnownContents
from .of_fleet import contents_of_fleet
from .prices import MasterPrices, is_of_no_plan, limit_at

CELLS, MORE, MOST_CELLS = 200, 4, 20_000
"""Cells of a question, to begin with, times as many where one gave no new content, and at most."""

GAP = 1e-5
"""Of a question."""

KEPT, NEAR = 200, 8
"""Contents of a question that are kept, and those near which others are looked for."""


def is_impossible(resolved: ResolvedProblem, *, deadline: float) -> bool:
    """Tells whether it is proven that no plan carries the rates; every GPU type has a count."""
    counts = {entry.gpu.name: entry.available or 0 for entry in resolved.fleet}
    nothing = np.zeros(len(resolved.required_rps))
    asked, fleet = AskedRows.of(resolved), contents_of_fleet(resolved, nothing)
    known = KnownContents(nothing, resolved.required_rps)
    # What is missing costs as much of each: a rate, or its only replica.
    prices = MasterPrices(np.where(asked.once, 0.0, 1 / asked.rate_rps), nothing, np.where(asked.once, 1.0, 0.0))
    cells = CELLS
    while time.monotonic() < deadline:
        before = len(known)
        worth = known.ask(fleet, prices, counts, gap=GAP, cells=cells, kept=KEPT, deadline=deadline)
        paid = float(prices.of_rate @ resolved.required_rps + prices.of_less.sum())
        if is_of_no_plan(limit_at(resolved, prices, worth, counts), 0.0, paid):
            return True
        known.add_near(fleet, prices, NEAR)
        if len(known) > before:
            prices = known.prices(asked, counts)
            if limit_at(resolved, prices, known.most(prices, counts), counts) >= 0:
                return False
        elif cells < MOST_CELLS:
            cells *= MORE
        else:
            return False
    return False
