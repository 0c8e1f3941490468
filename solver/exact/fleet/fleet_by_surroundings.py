"""
Fleets that are shared by MPS alone, of services that are whole: bound and plans by the surroundings of residents.

Rounds of prices (surroundings/price_search.py) raise the bound. At the prices of the best one, plans are built
(surroundings/plan_builder.py) again and again, at prices that the last plan corrects. Bound and plans have about half
of the time each; of many services plans have less while the bound can be proven to rise. It ends when the bound proves
the best plan, or meets the gap that is asked for, or when time is over or nothing has become better for long. At any
moment bound and plan are what they say.

Where GPUs are counted they cost a rent in the search for prices (`Customers.with_rents`), and a plan may be found among
many that take too many of them. If any is proven to cost more than all GPUs together, there is none.

Where services are few and bound and plan are near, all sets are listed of which a cheaper plan would be made
(surroundings/cheaper_sets.py), and an integer program over them finds one, or proves that there is none. Where rounds
end with a gap all the same, a program over the sets that were met has the rest.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...allocation.allocated import AllocatedGpu, MpsGpu
from ...model.stop_reason import StopReason
from ...performance.resolve import ResolvedProblem
from ..cost_lattice import NO_GAP, cost_lattice
from ..mig.cutting_stock import CuttingStockAnswer, solve_cutting_stock
from ..mps.columns import Column
from ..mps.decoding import shared_gpus
from ..mps.program import MpsAnswer, by_columns
from ..proof import is_within
from ..surroundings.cheaper_sets import cheaper_sets
from ..surroundings.customers import Customers
from ..surroundings.master import Met
from ..surroundings.plan_builder import ABOUT, PlanBuilder
from ..surroundings.price_search import PriceSearch
from .fleet_by_sets import ListedSets
from .kept_limits import keeps_limits

SURROUNDINGS = (
    "Lagrangian bound at the prices of whole services (solver/exact/surroundings/price_search.py): no GPU that keeps "
    "its SLOs is worth more than it costs, by a cover of all surroundings that its residents may have "
    "(solver/exact/surroundings/least_demands.py)"
)

CHEAPER = (
    "dual bound of the program over all sets that a cheaper plan could be made of "
    "(solver/exact/surroundings/cheaper_sets.py), by the prices of whole services"
)

BEYOND = 1e-6
"""Part of what all GPUs cost by which a bound is to be above it for there to be no plan."""

NO_BETTER = 12
"""Rounds without a greater bound, or plans that are no cheaper, after which there are no more."""

CLOSE = 0.03
"""Part of the bound above it up to which sets that were met may make prices better, for plans to be built at them."""

EARLY = 0.15
"""Part of the time of the bound that plans of FEW services have before that."""

RISE = 2e-5
"""Part of a bound by which a greater one counts as better."""

FEW = 150
"""Services up to which a program over the sets that were met is tried; of more, cells value each a little otherwise."""

HASTY, FINE = 0.03, 0.008
"""Part of the best by which sets may be worth less that are taken with it, of more than FEW services: of the first plan
and where time is short, and of others. Both are as good in the end, but the latter oftener."""

TIME_TO_BE_FINE = 2.0
"""How many times as long as the last plan took has to be left for a fine one."""

PLANS_APART = 1.0
"""How many times as long as the last plan took the bound is raised before the next one of more than FEW services, while
it can be proven to rise to another cost."""

SLACK = 4.0
"""Parts of an average service, divided by how many there are, by which the dearest cheaper plan may be above the bound
for all sets of such plans to be listed: more services make more sets."""

LISTING = 0.5
"""Time that listing may take, as a part of what was spent on the bound."""

NEARER = 0.6
"""Part of the slack at which listing failed last at which it is tried again."""

MOST_LISTED = 6_000
"""Listed sets of which a program is made."""

PROGRAM_TIME = 0.8
"""Part of the time that is left that it may take."""

MOST_COLUMNS = 4_000
"""Sets in it."""


@dataclass(frozen=True, eq=False)
class PlanAndBound:
    """The best of both so far."""

    gpus: Sequence[AllocatedGpu]
    cost: float
    """inf: no plan is known, and the GPUs are more than there may be."""
    bound: tuple[float, str]
    """USD per hour, and its method."""

    @property
    def plan(self) -> list[AllocatedGpu] | None:
        """The GPUs; None: they are no plan."""
        return list(self.gpus) if self.cost < np.inf else None


class SurroundingsSearch:
    """Raises the bound and builds plans in turn; costs of the search for prices are with rents, all others without."""

    def __init__(
        self,
        resolved: ResolvedProblem,
        sets: ListedSets,
        customers: Customers,
        known: PlanAndBound,
        on_better: Callable[[PlanAndBound], None],
    ) -> None:
        self._resolved, self._sets, self._customers = resolved, sets, customers
        self.best = known
        self._on_better = on_better
        self._lattice = cost_lattice(resolved)
        self._search = PriceSearch.near(resolved, customers, [gpu for gpu in known.gpus if isinstance(gpu, MpsGpu)])
        self._builder = PlanBuilder(customers, self._search.types, sets.tables)
        self._corrected = self._search.centre
        self._built_at = 0.0
        self._are_many = float(customers.wanted.sum()) > FEW
        self._plans = 0
        self._dearer = np.ones(len(customers.wanted))
        """How many times their prices services have by what the last plan corrected."""
        self._failed_at = np.inf

    def run(self, deadline: float) -> None:
        """Searches until `deadline`, as time.monotonic() has it, or until there is no more to find."""
        on_bound = on_plans = last_s = since_s = 0.0
        idle_bound = idle_plans = 0
        while time.monotonic() < deadline and not self._is_done():
            started = time.monotonic()
            if idle_bound >= NO_BETTER and idle_plans >= NO_BETTER:
                break
            apart = since_s >= PLANS_APART * last_s and started + last_s <= deadline
            early = not self._are_many and on_plans < EARLY * on_bound
            close = (self._is_close() or early) and self._plans_first(on_plans < on_bound, apart)
            plans_turn = idle_bound >= NO_BETTER or close
            if plans_turn and idle_plans < NO_BETTER:
                idle_plans = 0 if self._build(deadline, last_s) else idle_plans + 1
                last_s, since_s = time.monotonic() - started, 0.0
                on_plans += last_s
            elif idle_bound < NO_BETTER:
                before = self._search.bound
                self._raise(deadline)
                idle_bound = 0 if self._search.bound > before * (1 + RISE) else idle_bound + 1
                idle_plans = min(idle_plans, NO_BETTER - 1) if not idle_bound else idle_plans
                on_bound += time.monotonic() - started
                since_s += time.monotonic() - started
                if len(self._resolved.required_rps) <= FEW and not self._is_done():
                    self._list(on_bound, deadline)
        if len(self._resolved.required_rps) <= FEW and not self._is_done() and time.monotonic() < deadline:
            self._program(deadline)

    @property
    def is_impossible(self) -> bool:
        """Whether any plan is proven to cost more than all GPUs that there are."""
        price = {entry.gpu.name: entry.price_per_hour for entry in self._resolved.fleet}
        most = sum(price[one.gpu] * one.available for one in self._customers.types)
        return self.best.bound[0] > most * (1 + BEYOND)

    def _is_done(self) -> bool:
        return self.is_impossible or is_within(self._resolved.gap, self.best.cost, self.best.bound[0])

    def _is_close(self) -> bool:
        """Tells whether prices are good enough for plans: any are while none is known."""
        return self._search.limit <= self._search.bound * (1 + CLOSE) or (
            self.best.plan is None and self._search.bound > 0
        )

    def _plans_first(self, less_time: bool, apart: bool) -> bool:
        """
        Tells whether a plan is next, unless the sets that were met leave no room for a cheaper one.

        Parameters
        ----------
        less_time
            Whether plans had less time than the bound.
        apart
            Whether the last one is long ago, and there is time for another.
        """
        least = self._lattice.next_cost(self._search.limit - self._customers.rent_of_all)
        if self.best.cost <= least * (1 + NO_GAP):
            return False
        rises = least > self.best.bound[0] * (1 + NO_GAP)
        return apart if self._are_many and rises else less_time

    def _raise(self, deadline: float) -> None:
        self._search.next_round(deadline)
        proven = self._lattice.next_cost(self._search.bound - self._customers.rent_of_all)
        self._prove(proven, SURROUNDINGS)

    def _prove(self, cost: float, method: str) -> None:
        if cost > self.best.bound[0] * (1 + NO_GAP):
            self._know(replace(self.best, bound=(cost, method)))

    def _know(self, better: PlanAndBound) -> None:
        """Takes a better plan or bound, and hands on both."""
        self.best = better
        self._on_better(better)

    def _list(self, spent: float, deadline: float) -> None:
        """Lists what a cheaper plan would be made of, if that may be little, and looks for one."""
        # With rents, which no plan pays more of.
        most_cost = self.best.cost - self._lattice.step + self._customers.rent_of_all
        slack = most_cost - self._search.bound
        if slack > min(SLACK * self._search.bound / float(self._customers.wanted.sum()) ** 2, NEARER * self._failed_at):
            return
        self._failed_at = slack
        found = cheaper_sets(self._search, most_cost, min(deadline, time.monotonic() + LISTING * spent))
        if found is None:
            return
        if found.least > most_cost * (1 + NO_GAP):
            self._prove(self.best.cost, CHEAPER)
        elif len(found.sets) <= MOST_LISTED:
            self._choose(found.sets, deadline)

    def _choose(self, sets: Sequence[Met], deadline: float) -> None:
        """Looks for a plan of some sets, of which a plan cheaper than the known one is."""
        known = self.best.cost
        columns = self._builder.possible_columns(sets)
        answer = self._chosen(self._builder.columns(self._search.centre, sets, len(sets)), deadline)
        if answer is not None and all(column.batches is not None for column in columns):
            self._prove(min(answer, known), CHEAPER)
        elif time.monotonic() < deadline and not self._is_done():
            relaxed = self._solved(columns, deadline)
            bound = np.inf if relaxed.stopped == StopReason.INFEASIBLE else relaxed.cost_bound
            if bound is not None:
                self._prove(min(bound, known), CHEAPER)

    def _build(self, deadline: float, last_s: float) -> bool:
        """Builds a plan; returns whether it is the best so far. `last_s`: seconds that the last one took, or 0."""
        if self._search.bound > self._built_at * (1 + 1e-3):
            self._built_at = self._search.bound
            self._corrected = self._search.centre * (self._dearer if self._are_many else 1.0)
        about, draw = ABOUT, None
        if self._are_many:
            is_fine = 0 < TIME_TO_BE_FINE * last_s < deadline - time.monotonic()
            about, draw = FINE if is_fine else HASTY, np.random.default_rng(self._plans)
            self._plans += 1
        built = self._builder.build(self._corrected, self._search.met, deadline, about=about, draw=draw)
        if built is None:
            return False
        self._corrected = built.dearer
        centre = self._search.centre
        self._dearer = np.divide(built.dearer, centre, out=np.ones_like(centre), where=centre > 0)
        return self._take(built.columns)

    def _take(self, columns: Sequence[Column]) -> bool:
        cost = sum(self._resolved.fleet_by_name[column.gpu].price_per_hour for column in columns)
        if cost > self.best.cost * (1 - NO_GAP):
            return False
        gpus = shared_gpus(self._resolved, self._sets.shared.items, self._dealt(columns))
        if not keeps_limits(self._resolved, gpus):
            return False
        self._know(replace(self.best, gpus=gpus, cost=cost))
        return True

    def _dealt(self, columns: Sequence[Column]) -> MpsAnswer:
        """Returns the columns with a service for each of their residents."""
        customer_of = {
            item: customer
            for one in self._customers.types
            for item, customer in zip(one.item.tolist(), one.customer.tolist(), strict=True)
        }
        left = {customer: list(reversed(one.members)) for customer, one in enumerate(self._sets.shared.classes)}
        residents: dict[int, list[int]] = {}
        for column in columns:
            for item in column.items:
                residents.setdefault(item, []).append(left[customer_of[item]].pop())
        return MpsAnswer(tuple((column, 1) for column in columns), residents)

    def _program(self, deadline: float) -> None:
        """Chooses among the sets that were met by an integer program."""
        columns = self._builder.columns(self._search.centre, self._search.met, MOST_COLUMNS)
        self._chosen(columns, time.monotonic() + PROGRAM_TIME * (deadline - time.monotonic()))

    def _chosen(self, columns: Sequence[Column], deadline: float) -> float | None:
        """Takes the plan of a program over columns if it is cheaper; returns the program's bound."""
        answer = self._solved(columns, deadline)
        if answer.patterns is not None:
            gpus = shared_gpus(self._resolved, self._sets.shared.items, answer.shared)
            cost = sum(self._resolved.fleet_by_name[gpu.gpu].price_per_hour for gpu in gpus)
            if cost < self.best.cost * (1 - NO_GAP) and keeps_limits(self._resolved, gpus):
                self._know(replace(self.best, gpus=gpus, cost=cost))
        return answer.cost_bound

    def _solved(self, columns: Sequence[Column], deadline: float) -> CuttingStockAnswer:
        return solve_cutting_stock(
            self._resolved,
            time_limit_s=max(deadline - time.monotonic(), 0.05),
            shared=by_columns(self._resolved, self._sets.shared, columns),
            fewest_slices=False,
            gap=self._resolved.gap,
        )
