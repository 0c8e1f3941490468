"""
Fleets that are shared by MPS alone, of services that are whole: the bound by the surroundings of residents.

Rounds of prices (surroundings/price_search.py) raise the bound until it proves the best plan, or meets the gap that is
asked for, or their time is over. Each is a bound, so the search can be ended at any moment.
"""

import time
from collections.abc import Callable, Sequence

from ...allocation.allocated import AllocatedGpu, MpsGpu
from ...performance.resolve import ResolvedProblem
from ...runtime.progress import report
from ..cost_lattice import cost_lattice
from ..proof import is_within
from ..surroundings.customers import Customers
from ..surroundings.price_search import PriceSearch

SURROUNDINGS = (
    "Lagrangian bound at the prices of whole services (solver/exact/surroundings/price_search.py): no GPU that keeps "
    "its SLOs is worth more than it costs, by a cover of all surroundings that its residents may have "
    "(solver/exact/surroundings/least_demands.py)"
)

NO_BETTER = 25
"""Rounds without a greater bound after which there are no more."""


def raise_bound(
    resolved: ResolvedProblem,
    customers: Customers,
    plan: Sequence[AllocatedGpu],
    known: tuple[float, str],
    on_bound: Callable[[tuple[float, str]], None],
    deadline: float,
) -> tuple[float, str]:
    """
    Returns the greater of a known bound and the best that the rounds prove, with its method.

    Parameters
    ----------
    plan
        The cheapest plan so far.
    on_bound
        Called with each greater bound.
    deadline
        As time.monotonic() has it.
    """
    cost = sum(resolved.fleet_by_name[gpu.gpu].price_per_hour for gpu in plan)
    search = PriceSearch(resolved, customers, [gpu for gpu in plan if isinstance(gpu, MpsGpu)])
    lattice = cost_lattice(resolved)
    bound, idle, raw = known, 0, 0.0
    while idle < NO_BETTER and time.monotonic() < deadline and not is_within(resolved.gap, cost, bound[0]):
        found = search.next_round(deadline)
        idle = 0 if found.bound > raw * (1 + 1e-6) else idle + 1
        raw = found.bound
        proven = lattice.next_cost(raw)
        if proven > bound[0]:
            bound = proven, SURROUNDINGS
            report(f"exact: no plan costs less than ${proven:,.2f}/h")
            on_bound(bound)
    return bound
