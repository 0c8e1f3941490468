"""
Slice prices in whole numbers: the bound that they prove, and which covers reach it, without any rounding.

At a vertex of the dual (lagrangian_dual.py) some cuts of GPUs are worth just what the GPU costs and some workloads have
several cheapest covers. These equations have small whole coefficients, so the prices are fractions of a small
denominator, of which a solver of linear programs gives the first ten digits. With the cost of a GPU of type g as c_g
steps (cost_lattice.py), let Q be the least number for which all Q p_k are whole but for the solver's rounding, and

    P_k = Q p_k,   C_g = Q c_g,   M_g = max(0, max_q a_q P - C_g)        (without a count M_g must be 0)

    L = sum_w min { P n : n covers w }  -  sum_g N_g M_g

The argument of lagrangian_dual.py holds for any prices >= 0 whose cuts are worth no more than the GPU and its rent, so
for these: no plan costs less than L / Q steps, hence none less than ceil(L / Q) steps. All of it is in integers; were Q
or P badly chosen, L would be low, never wrong. Which covers carry a rate is as exact as cover_search.py, and no more.

A cover is tied where it is as cheap as its workload's cheapest in these integers. By complementary slackness a plan
that costs L / Q steps consists of tied covers, of cuts that are worth what they cost, and leaves no partition of a
price above 0 unused; what a plan of T steps may waste of all that together is T Q - L.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...performance.interference.prediction import Floats, Ints
from ..covers.cover_groups import CoverGroups
from ..covers.listed_covers import ListedCovers, fluid_cost
from ..dual.supply import Supply

MOST_PARTS = 200_000
"""Denominators that are tried."""

TRIED_FIRST = (1_000, 20_000)
"""Those up to these are tried before the others: nearly always one of the first few fits."""

ROUNDING = 2e-5
"""How far a multiple of a price may be from a whole number and be taken for it."""

NEAR = 1e-4
"""Part of a cover's cost by which it may be dearer than the cheapest for its partitions to count as wanted."""

MOST = 2**62
"""Beyond this no sum is made of 64-bit integers."""


@dataclass(frozen=True, eq=False)
class WholePrices:
    """Prices in parts of a step. Shapes (size,), (type,) and (cut,)."""

    parts: int
    """Q: parts of a step."""
    price: Ints
    """P, all above 0."""
    rent: Ints
    """M."""
    gpu_cost: Ints
    """c: steps that a GPU costs, by cut."""
    unused: Ints
    """By how much each cut is worth less than the GPU and its rent."""

    @property
    def in_steps(self) -> Floats:
        """The prices, in steps."""
        return np.asarray(self.price / self.parts, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ProvenCovers:
    """Covers of all workloads at exact prices, and what these prove. Shape (cover,)."""

    prices: WholePrices
    covers: CoverGroups
    reduced: Ints
    """By how much each cover is dearer than its group's cheapest; 0: tied."""
    needed: int
    """What the cheapest covers of all workloads cost together."""
    bound: int
    """L: the same less the rents."""

    @property
    def least_steps(self) -> int:
        """Steps below which there is no plan."""
        return -(-self.bound // self.prices.parts)

    def to_waste(self, steps: int) -> int:
        """Returns what a plan of so many steps may waste."""
        return steps * self.prices.parts - self.bound


def whole_prices(price: Floats, supply: Supply, gpu_cost: Ints, covers: CoverGroups) -> WholePrices | None:
    """
    Returns prices near the given ones, in whole numbers; None: there are none, or their sums would leave 64 bits.

    Parameters
    ----------
    price
        Shape (size,), in steps.
    gpu_cost
        Shape (cut,), in steps.
    covers
        The cheapest at these prices, of each workload, and others.
    """
    wanted = _wanted(price, covers)
    parts = _parts(price)
    if not _is_whole(price, parts):
        # Sizes that nobody wants have any price that the cuts leave room for, and rounding may not make them cheap.
        parts = _parts(price[wanted])
        parts *= MOST_PARTS // parts
    cost = gpu_cost * parts
    limited = np.isfinite(supply.available)[supply.gpu_type]
    for rounding in (ROUNDING, 0.0):
        rounded = np.floor(price * parts + rounding).astype(np.int64)
        if rounding:
            rounded[wanted] = np.rint(price[wanted] * parts).astype(np.int64)
        if ((supply.instances @ rounded <= cost) | limited).all():
            break
    else:
        return None
    rounded = _raised(rounded, np.flatnonzero(~wanted), supply, cost)
    if not (rounded > 0).all() or not _stays_within(rounded, cost, supply, covers):
        return None
    rent = np.zeros(len(supply.available), dtype=np.int64)
    np.maximum.at(rent, supply.gpu_type, supply.instances @ rounded - cost)
    unused = cost + rent[supply.gpu_type] - supply.instances @ rounded
    return WholePrices(parts, rounded, rent, gpu_cost, unused)


def are_listed(prices: WholePrices, price: Floats, slack: float, covers: CoverGroups, *, filled: bool) -> bool:
    """
    Tells whether covers within a slack of the cheapest at other prices contain the cheapest at these.

    Let no price be lower by more than a part d. A cover that is not listed cost more than 1 + slack times the cheapest,
    so here it costs more than (1 - d) (1 + slack) times that; it is not the cheapest where a listed one costs less.

    Of covers with partitions that they do not need only those are listed that have the cheapest size for these
    (cover_search.py). They are the cheapest of them here too where no size has become cheaper than another one.

    Parameters
    ----------
    price
        Shape (size,), in steps: the other prices.
    filled
        Whether a workload may have to have partitions that it does not need: more than one replica at least.
    """
    if filled and (np.diff(prices.price[np.argsort(price, kind="stable")]) < 0).any():
        return False
    lower = max(float((1 - prices.in_steps / price).max()), 0.0)
    before = np.minimum.reduceat(covers.counts @ price, covers.first)
    now = np.minimum.reduceat(covers.counts @ prices.in_steps, covers.first)
    return bool((now <= (1 - lower) * (1 + slack) * before * (1 - 1e-9)).all())


def proven_covers(prices: WholePrices, supply: Supply, listed: ListedCovers) -> ProvenCovers:
    """Returns what prices prove. Of each workload the cheapest cover at these prices is listed."""
    covers = listed.covers
    cost = covers.counts @ prices.price
    cheapest = np.minimum.reduceat(cost, covers.first)
    least = cheapest.copy()
    if listed.unlisted.size:
        fluid = np.floor(fluid_cost(listed.part, prices.price.astype(np.float64)) * (1 - 1e-9)).astype(np.int64)
        least[listed.groups_unlisted] = np.minimum(least[listed.groups_unlisted], fluid)
    needed = int(covers.members @ least)
    return proven_of(ProvenCovers(prices, covers, cost - cheapest[covers.owner], needed, 0), supply)


def proven_of(proven: ProvenCovers, supply: Supply) -> ProvenCovers:
    """Returns what the same prices prove of other counts of GPUs; a type whose rent is not 0 has one."""
    limited = np.flatnonzero(np.isfinite(supply.available))
    scarce = int(supply.available[limited].astype(np.int64) @ proven.prices.rent[limited])
    return replace(proven, bound=proven.needed - scarce)


def _wanted(price: Floats, covers: CoverGroups) -> NDArray[np.bool_]:
    """Tells which sizes some cover that is nearly the cheapest takes."""
    cost = covers.counts @ price
    return np.asarray((covers.counts[cost <= covers.least(cost) * (1 + NEAR)] > 0).any(axis=0))


def _parts(price: Floats) -> int:
    """Returns the least denominator of some prices; the one that comes nearest where none fits."""
    parts, off = np.arange(1, MOST_PARTS + 1), np.zeros(MOST_PARTS)
    for fitting in np.split(parts, TRIED_FIRST):
        for one in price.tolist():
            fitting = fitting[_off(one * fitting) <= ROUNDING]
        if fitting.size:
            return int(fitting[0])
    for one in price.tolist():
        np.maximum(off, _off(one * parts), out=off)
    return int(parts[np.argmin(off)])


def _off(multiple: Floats) -> Floats:
    """Returns how far numbers are from whole ones."""
    return np.asarray(np.abs(multiple - np.rint(multiple)))


def _is_whole(price: Floats, parts: int) -> bool:
    return bool((_off(price * parts) <= ROUNDING).all())


def _stays_within(price: Ints, cost: Ints, supply: Supply, covers: CoverGroups) -> bool:
    """Tells whether all sums stay below 2^62."""
    dearest = max(float(np.max(covers.counts @ price.astype(np.float64), initial=0.0)), float(cost.max()))
    counted = supply.available[np.isfinite(supply.available)]
    return 2 * dearest * (len(covers.group) + float(counted.sum()) + 1) < MOST


def _raised(price: Ints, unwanted: Ints, supply: Supply, cost: Ints) -> Ints:
    """Returns the prices with those of sizes that nobody wants as high as the cuts leave room, one after the other."""
    price = price.copy()
    for k in unwanted.tolist():
        holds = np.flatnonzero(supply.instances[:, k])
        room = (cost[holds] - supply.instances[holds] @ price) // supply.instances[holds, k]
        price[k] += max(int(room.min()), 0) if holds.size else 0
    return price
