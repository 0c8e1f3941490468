"""
Plans by diving: part of the GPUs are filled at some prices, then prices are found anew for the services that are left.

At prices at which the bound is proven there are many times as many sets worth a GPU as a plan has GPUs. Which of them
are taken (plan_builder.py) is of no matter to the bound, but it is to the services that are left: what is worth most
while there is much to choose from leaves those that do not go together. New prices make such services dear, and they
are placed next, with others that suit them, instead of last, on GPUs that stay half empty.

Prices of fewer services are quicker to find: cells, sets and upper limits are those of before (price_search.py), and
nothing is proven at them.
"""

import time
from collections.abc import Sequence

from ..mps.columns import Column, ItemTable
from .plan_builder import PlanBuilder
from .price_search import PriceSearch

PLACED = (0.2, 0.15, 0.25)
"""Part of the worth of all services left that is placed before there are new prices, in one dive after the other."""

LAST = 40
"""Services left up to which all are placed."""

TRIES = 4
"""How often they are, at prices that the last try corrects."""


def dive(search: PriceSearch, tables: Sequence[ItemTable], deadline: float, number: int = 0) -> list[Column] | None:
    """
    Returns a plan that begins at the best prices of a search, which stays as it is; None: there was no time.

    Where time is short the rest is placed at the prices that there are.

    Parameters
    ----------
    deadline
        As time.monotonic() has it.
    number
        How many dives there were before: this one ends elsewhere, also at the same prices.
    """
    columns: list[Column] = []
    part = PLACED[number % len(PLACED)]
    building = placed = 0.0
    while True:
        builder = PlanBuilder(search.customers, search.types, tables)
        if search.customers.wanted.sum() <= LAST:
            last = _best_of_some(builder, search, deadline)
            return None if last is None else columns + last
        started = time.monotonic()
        rest = building * (1 - placed) / placed if placed else 0.0
        built = builder.build(
            search.centre, search.met, deadline, least_left=1 - part if started + rest < deadline else 0.0
        )
        if built is None:
            return None
        columns += built.columns
        if not built.left.any():
            return columns
        building += time.monotonic() - started
        placed += part * (1 - placed)
        search = search.restricted_to(built.left)
        search.go_to_build(deadline - building * (1 - placed) / placed)


def _best_of_some(builder: PlanBuilder, search: PriceSearch, deadline: float) -> list[Column] | None:
    """Returns the cheapest of some plans; None: there was no time for any."""
    usd_of = {one.gpu: one.usd_per_hour for one in search.customers.types}
    price = search.centre
    plans: list[list[Column]] = []
    while len(plans) < TRIES and (built := builder.build(price, search.met, deadline)) is not None:
        plans.append(built.columns)
        price = built.dearer
    return min(plans, key=lambda plan: sum(usd_of[column.gpu] for column in plan), default=None)
