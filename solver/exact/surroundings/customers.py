"""
Services that are whole: each a resident of one GPU, of whichever type, so that they are customers with a price each.

A class of alike services is one customer, asked for as often as it has members. On a GPU type it is as many guests as a
GPU could hold of it at most, so that sets in which it stands several times are sets of guests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...allocation.allocated import MpsGpu
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ..mps.items import MpsItems
from .least_demands import GREATEST, Guests, guests_of, least_demands

Totals = tuple[int, Floats]
"""How many residents a GPU has, and what they ask together of each thing shared."""


@dataclass(frozen=True, eq=False)
class OnType:
    """Customers as guests of one GPU type; arrays have shape (guest,)."""

    gpu: str
    guests: Guests
    customer: Ints
    """Rising."""
    item: Ints
    """Number among the problem's items."""
    usd_per_hour: float
    """Of a GPU, with its rent."""
    available: float = np.inf
    """GPUs of the type that there are."""


@dataclass(frozen=True, eq=False)
class Customers:
    """All whole services of a problem."""

    wanted: Floats
    """How many there are of each, shape (customer,)."""
    model: Ints
    """The model that each serves, by a number; shape (customer,)."""
    types: tuple[OnType, ...]
    rent_of_all: float = 0.0
    """Rent of all GPUs that there are, USD per hour: no plan pays more of it."""

    def with_rents(self, rent: Mapping[str, float]) -> "Customers":
        """
        Returns them for GPUs that cost a rent as well, for there are only so many.

        `rent`: of each type, USD per hour, not below 0; of a type without a count it is 0. A plan with x_g GPUs of type
        g pays m_g x_g, at most `rent_of_all` = sum m_g N_g. So it costs no less than what is proven of it with rents,
        less that.
        """
        own = {one.gpu: rent[one.gpu] if np.isfinite(one.available) else 0.0 for one in self.types}
        types = tuple(replace(one, usd_per_hour=one.usd_per_hour + own[one.gpu]) for one in self.types)
        of_all = sum(own[one.gpu] * one.available for one in self.types if own[one.gpu] > 0)
        return replace(self, types=types, rent_of_all=self.rent_of_all + of_all)


def customers_of(resolved: ResolvedProblem, shared: MpsItems) -> Customers | None:
    """Returns the services as customers; None: some may be served otherwise than by one resident, or by none."""
    if resolved.capacity_rps.any() or not shared.classes:
        return None
    rows: dict[str, list[tuple[int, int]]] = {gpu: [] for gpu in resolved.mps}
    for customer, one in enumerate(shared.classes):
        splits = resolved.problem.settings.mps_rules == "free"
        if not one.recipes or (splits and resolved.problem.workloads[one.members[0]].max_replicas != 1):
            return None
        for recipe in one.recipes:
            item = shared.items[recipe[0]]
            if len(recipe) != 1 or item.dedicated:
                return None
            rows[item.gpu].append((customer, recipe[0]))
    types = []
    for gpu, own in rows.items():
        found = _on_type(resolved, shared, gpu, own) if own else None
        if found is not None:
            types.append(found)
    served = {customer for one in types for customer in one.customer.tolist()}
    if len(served) < len(shared.classes):
        return None
    served_by = [resolved.problem.workloads[one.members[0]].model for one in shared.classes]
    model: Ints = np.unique(served_by, return_inverse=True)[1]
    return Customers(np.array([float(len(one.members)) for one in shared.classes]), model, tuple(types))


def _on_type(resolved: ResolvedProblem, shared: MpsItems, gpu: str, rows: Sequence[tuple[int, int]]) -> OnType | None:
    mps = resolved.mps[gpu]
    guests = guests_of(mps, tuple(shared.items[item] for _, item in rows))
    alone = least_demands(guests, np.ones(1, dtype=np.int64), np.zeros((guests.things, 1))).units[0].astype(np.int64)
    fits = (alone <= mps.capacity_units) & (guests.memory_mib <= mps.memory_mib)
    members = np.array([len(shared.classes[customer].members) for customer, _ in rows])
    times = np.where(fits, np.minimum(members, mps.capacity_units // alone), 0)
    if not times.any():
        return None
    repeated = np.repeat(np.arange(len(rows)), times)
    customer, item = np.array(rows, dtype=np.int64)[repeated].T
    entry = resolved.fleet_by_name[gpu]
    available = np.inf if entry.available is None else float(entry.available)
    return OnType(gpu, guests.of(repeated), customer, item, entry.price_per_hour, available)


def totals_of(resolved: ResolvedProblem, gpus: Sequence[MpsGpu], gpu: str) -> list[Totals]:
    """Returns the surroundings on the GPUs of one type in a plan."""
    mps = resolved.mps[gpu]
    found: list[Totals] = []
    for one in gpus:
        if one.gpu == gpu:
            workload, batch = (
                np.array([getattr(resident, name) for resident in one.residents], dtype=np.int64)
                for name in ("workload", "batch")
            )
            percent = np.array([resident.percent for resident in one.residents])
            with np.errstate(over="ignore"):
                demands = mps.model.demands_at(workload, mps.model.ability_rps(workload, batch, percent))
            found.append((len(workload), np.array([min(float(own.sum()), GREATEST) for own in demands])))
    return found
