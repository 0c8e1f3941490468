"""
What there is of least cost without a solver, in a moment: a bound, and plans of every service where it is cheapest.

It is for a search that ends before it has a plan: loading the solvers alone takes longer than a short time limit. The
bound is that of the prices (priced_at_hand.py). Whether the plans hold under all rules of the problem is not known
here: whoever takes them verifies them first. Of their cost is claimed what the bound says.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from math import inf

import numpy as np

from ...allocation.allocated import AllocatedGpu
from ...allocation.assembly import UNKNOWN_BOUND
from ...exact.cost_lattice import cost_lattice
from ...exact.dual.lagrangian_data import most_to_pay
from ...exact.dual.supply import Supply, least_rent
from ...exact.fleet.kept_limits import keeps_limits
from ...exact.fleet.spare_covers import covers_with_spares
from ...exact.mig.decoding import cut_gpus
from ...exact.mig.spare_rules import spare_rules, worst_case
from ...exact.primal.spares_at_hand import cuts_with_free
from ...model.plan import Bound, Plan, Search
from ...model.stop_reason import StopReason
from ...performance.interference.prediction import Ints
from ...performance.latency_rules.server_sets import is_by_set
from ...performance.resolve import ResolvedProblem
from ..planner import AtHand
from .answers import bound_of, of_known, slice_prices
from .priced_at_hand import Priced, gpus_at_hand, priced_at_hand

PRICES = (
    "Lagrangian bound at slice prices found without a solver (solver/exact/dual/prices_at_hand.py): no cut of a GPU is "
    "worth more than the GPU, and every workload costs at least its cheapest cover"
)

NO_SEARCH = Search(stopped=StopReason.TIME_LIMIT, time_limit_s=None, solver=None)


def at_hand(resolved: ResolvedProblem) -> AtHand:
    """Returns a bound and plans, of problems of least cost."""
    priced = priced_at_hand(resolved)
    bound = bound_at_hand(priced.resolved, priced.bound)
    return AtHand(bound, partial(_cheaper_and_cheaper, priced, bound))


def bound_at_hand(resolved: ResolvedProblem, bound: float) -> Bound:
    """Returns what prices prove; unknown: the cost of all GPUs is below it, or what partitions carry is no sum."""
    if is_by_set(resolved.problem.settings) or bound > most_to_pay(resolved):
        return UNKNOWN_BOUND.model_copy(update={"method": "none: the search ended before it had one"})
    return bound_of(resolved, cost_lattice(resolved).next_cost(bound), PRICES)


def _cheaper_and_cheaper(priced: Priced, bound: Bound) -> Iterator[Plan]:
    """Yields plans within all counts, each time cheaper ones."""
    resolved = priced.resolved
    price = {entry.gpu.name: entry.price_per_hour for entry in resolved.fleet}
    prices = slice_prices(resolved, priced.data.sizes, priced.price, least_rent(priced.data.supply, priced.price))
    least = inf
    for gpus in gpus_at_hand(priced, _with_spares):
        cost = sum(price[gpu.gpu] for gpu in gpus)
        if cost < least and keeps_limits(resolved, gpus):
            least = cost
            yield of_known(resolved, gpus, NO_SEARCH, bound).model_copy(update={"prices": prices})


def _with_spares(priced: Priced, supply: Supply, partitions: Ints, times: Ints) -> Sequence[AllocatedGpu] | None:
    """Returns GPUs that are cut for partitions and for what is to be kept free beside; None: there are too few."""
    resolved, sizes = priced.resolved, priced.data.sizes
    rules = spare_rules(resolved.problem.settings)
    if rules is None:
        return cut_gpus(resolved, priced.used(times), partitions)
    price = np.zeros(len(resolved.sizes))
    price[sizes] = priced.price
    covers = covers_with_spares(resolved, rules, partitions, price)
    if covers is None:
        return None
    own, extra = covers
    wanted, least_free = own.sum(axis=0)[sizes], worst_case(extra, rules.services)[sizes]
    found = cuts_with_free(supply, wanted, least_free, priced.price, gpu_loss=rules.gpu_loss)
    if found is None:
        return None
    spares = np.zeros(len(resolved.sizes), dtype=np.int64)
    spares[sizes] = found[1]
    return cut_gpus(resolved, priced.used(found[0]), own, spares)
