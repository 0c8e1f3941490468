"""
Repair of a plan that is short of a few partitions, by exchanges that keep its cost.

With whole GPUs x and covers z the plan has r = A x - D(z) partitions of each size to spare, and it is a plan if and
only if r >= 0. The GPUs are those of the proven cost, so any exchange keeps that:

    a workload takes another of its covers          r changes by  old cover - new cover
    a GPU is cut otherwise, within its type         r changes by  new cut - old cut

First exchanges that waste nothing are made, one by one and then two by two, as long as they lessen the shortage. Then
the rest is met in the middle: all sums of two of the shortest exchanges are sorted by a hash, and for each r' >= 0 that
the plan may have to spare in the end (P r' is at most what it may waste) and each sum a of two, the
sum r' - r - a is looked up. That finds any remedy of up to four of them. Hashes propose; what is carried out is
counted.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ..covers.cover_groups import CoverGroups
from ..covers.covers import ranges
from ..dual.supply import Supply
from .whole_prices import ProvenCovers

MOST_COVERS = 30_000
"""Covers, of groups at random, between which exchanges are looked at."""

AT_ONCE = 100
"""Exchanges of which all sums of two are formed for a first plan."""

MOST_STEPS = 400
"""Exchanges that are made to lessen the shortage."""

MOST_GOALS = 400
"""Ways to waste no more than the plan may that are looked at."""

MOST_SPARE = 20
"""Partitions of a size that these leave spare; a plan that may waste far more than that has goals without number."""

MOST_TRIED = 200
"""Proposals of up to four exchanges that are counted anew."""

KEY_ENDS = 1 << 20
"""Ends of keys that are told apart, a power of 2: several times as many as there are sums of two exchanges."""

LEAST_WEIGHT = 1e-3
"""Of a partition in a shortage, where the dearest counts 1."""


@dataclass(frozen=True, eq=False)
class Decision:
    """Which covers are taken how often, and which cuts. Shapes (cover,) and (cut,)."""

    times: Ints
    cuts: Ints

    def spare(self, supply: Supply, covers: CoverGroups) -> Ints:
        """Returns r, shape (size,)."""
        return np.asarray(self.cuts @ supply.instances - self.times @ covers.counts, dtype=np.int64)

    @property
    def there(self) -> Ints:
        """Shape (cover or cut,): who could make an exchange, the cuts behind the covers."""
        return np.concatenate([self.times, self.cuts])

    def of(self, there: Ints) -> "Decision":
        """Returns the decision with other covers and cuts."""
        return Decision(there[: len(self.times)], there[len(self.times) :])


@dataclass(frozen=True, eq=False)
class _Exchanges:
    """One exchange of each change of r, and last that of nothing. Shapes (exchange, size) and (exchange,)."""

    change: Ints
    old: Ints
    new: Ints
    """Positions of covers; of cuts, behind the covers."""

    @property
    def nothing(self) -> int:
        return len(self.old) - 1

    def shortest(self, weight: Floats, number: int) -> "_Exchanges":
        """Returns the exchanges that change least."""
        length = np.abs(self.change[:-1]) @ weight
        rows = np.append(np.argsort(length, kind="stable")[:number], self.nothing)
        return _Exchanges(self.change[rows], self.old[rows], self.new[rows])


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of two exchanges, or of one and nothing. Shapes (sum, size) and (sum,)."""

    of: _Exchanges
    change: Ints
    one: Ints
    two: Ints

    def steps(self, row: int) -> list[int]:
        """Returns the exchanges of a sum."""
        return [int(i) for i in (self.one[row], self.two[row]) if i != self.of.nothing]

    def made(self, there: Ints, steps: list[int]) -> Ints | None:
        """Returns who is there after exchanges; None: nobody is left for one of them."""
        after = there.copy()
        for i, times in Counter(steps).items():
            after[self.of.old[i]] -= times
            after[self.of.new[i]] += times
        return None if (after < 0).any() else after


def repaired(
    decision: Decision, supply: Supply, proven: ProvenCovers, *, to_waste: int, number: int
) -> Decision | None:
    """
    Returns a decision that is short of nothing and costs the same; None: none was found.

    Parameters
    ----------
    to_waste
        T Q - L of the plan's cost T.
    number
        Exchanges of which all sums of two are formed, the shortest.
    """
    covers, weight = proven.covers, _weight(proven)
    exchanges = _exchanges(decision, supply, proven, dearer=0)
    for sums in (_singles(exchanges), _pairs(exchanges.shortest(weight, number))):
        decision = _lessened(decision, decision.spare(supply, covers), sums, weight)
        if (decision.spare(supply, covers) >= 0).all():
            return decision
    for dearer in (0, to_waste) if to_waste else (0,):
        near = _exchanges(decision, supply, proven, dearer=dearer).shortest(weight, number)
        found = _met_in_the_middle(decision, supply, proven, _pairs(near), to_waste)
        if found is not None:
            return found
    return None


def repaired_at_once(decision: Decision, supply: Supply, proven: ProvenCovers, *, to_waste: int) -> Decision | None:
    """
    Returns the same by one or two exchanges at a time, where much may be wasted; None: none of them lessens a shortage.

    `to_waste`: how much more than before an exchange may waste.
    """
    weight = _weight(proven)
    exchanges = _exchanges(decision, supply, proven, dearer=to_waste)
    for sums in (_singles(exchanges), _pairs(exchanges.shortest(weight, AT_ONCE))):
        decision = _lessened(decision, decision.spare(supply, proven.covers), sums, weight)
        if (decision.spare(supply, proven.covers) >= 0).all():
            return decision
    return None


def _weight(proven: ProvenCovers) -> Floats:
    """Returns what a partition of each size counts for, shape (size,)."""
    price = proven.prices.price
    return np.asarray(np.maximum(price / price.max(), LEAST_WEIGHT), dtype=np.float64)


def _exchanges(decision: Decision, supply: Supply, proven: ProvenCovers, *, dearer: int) -> _Exchanges:
    """
    Returns one exchange of each change, of those with the same the most frugal that most could make.

    Parameters
    ----------
    dearer
        How much more than before an exchange may waste.
    """
    covers, reduced = proven.covers, proven.reduced
    groups = np.random.default_rng(0).permutation(len(covers.first))
    groups = np.sort(groups[: np.searchsorted(np.cumsum(covers.number[groups]), MOST_COVERS) + 1])
    at = ranges(covers.first[groups], covers.number[groups])
    old, at = at[decision.times[at] > 0], at[reduced[at] <= dearer]
    own = covers.owner[old]
    number = np.bincount(covers.owner[at], minlength=len(covers.first))
    first = np.cumsum(number) - number
    new, old = at[ranges(first[own], number[own])], np.repeat(old, number[own])
    old, new = old[new != old], new[new != old]
    same_type = supply.gpu_type[:, None] == supply.gpu_type[None, :]
    cut, other = np.nonzero(same_type & (decision.cuts > 0)[:, None] & ~np.eye(len(same_type), dtype=np.bool_))
    behind = len(covers.counts)
    change = np.vstack([covers.counts[old] - covers.counts[new], supply.instances[other] - supply.instances[cut]])
    old, new = np.concatenate([old, behind + cut]), np.concatenate([new, behind + other])
    waste = np.concatenate([reduced, proven.prices.unused])
    more = waste[new] - waste[old]
    order = np.lexsort((-decision.there[old], more))
    order = order[more[order] <= dearer]
    _, unlike = np.unique(_hash(change[order]), return_index=True)
    rows = np.sort(order[unlike])
    nothing = np.zeros((1, change.shape[1]), dtype=np.int64)
    return _Exchanges(
        np.vstack([change[rows], nothing]).astype(np.int64), np.append(old[rows], 0), np.append(new[rows], 0)
    )


def _singles(exchanges: _Exchanges) -> _Sums:
    one = np.arange(exchanges.nothing)
    return _Sums(exchanges, exchanges.change[:-1], one, np.full(len(one), exchanges.nothing))


def _pairs(exchanges: _Exchanges) -> _Sums:
    one, two = np.triu_indices(len(exchanges.old))
    return _Sums(exchanges, exchanges.change[one] + exchanges.change[two], one, two)


def _lessened(decision: Decision, spare: Ints, sums: _Sums, weight: Floats) -> Decision:
    """Returns the decision after sums of exchanges, each the one that lessens the squared shortage most."""
    there = decision.there
    old = np.where(sums.of.change.any(axis=1), sums.of.old, -1)

    def short(of: Ints) -> Floats:
        return np.asarray((np.minimum(of, 0) * weight) ** 2 @ np.ones(len(weight)), dtype=np.float64)

    now = float(short(spare))
    for _ in range(MOST_STEPS):
        if now == 0.0 or not len(sums.one):
            break
        nobody = (old >= 0) & (there[old] <= 0)
        after = np.where(nobody[sums.one] | nobody[sums.two], np.inf, short(spare + sums.change))
        best = int(np.argmin(after))
        made = sums.made(there, sums.steps(best)) if after[best] < now * (1 - 1e-12) else None
        if made is None:
            break
        there, spare, now = made, spare + sums.change[best], float(after[best])
    return decision.of(there)


def _met_in_the_middle(
    decision: Decision, supply: Supply, proven: ProvenCovers, sums: _Sums, to_waste: int
) -> Decision | None:
    """Returns a decision after up to four exchanges that is short of nothing; None: there is none of these."""
    price = proven.prices.price
    spare = decision.spare(supply, proven.covers)
    key = _hash(sums.change)
    order = np.argsort(key, kind="stable")
    in_order = key[order]
    # Most of what is wanted is no key by its last bits alone, which is seen many times as fast as it is looked up.
    ends = np.zeros(KEY_ENDS, dtype=np.bool_)
    ends[in_order & (KEY_ENDS - 1)] = True
    tried = 0
    for goal in _goals(price, to_waste, int(spare @ price)):
        wanted = _hash((goal - spare)[None, :])[0] - in_order
        hopeful = np.flatnonzero(ends[wanted & (KEY_ENDS - 1)])
        at = np.minimum(np.searchsorted(in_order, wanted[hopeful]), len(order) - 1)
        found = in_order[at] == wanted[hopeful]
        for a, b in sorted(zip(order[hopeful[found]].tolist(), order[at[found]].tolist(), strict=True)):
            made = sums.made(decision.there, sums.steps(a) + sums.steps(b))
            after = None if made is None else decision.of(made)
            if after is not None and (after.spare(supply, proven.covers) >= 0).all():
                return after
            tried += 1
            if tried >= MOST_TRIED:
                return None
    return None


def _goals(price: Ints, to_waste: int, wasted: int) -> Iterator[Ints]:
    """
    Yields what may be spare of each size at a waste of no more than this.

    Exchanges that waste nothing leave P r as it is, so goals that waste as much as now come first.
    """
    found = np.zeros((1, len(price)), dtype=np.int64)
    for k in range(len(price)):
        most = np.minimum(np.maximum(to_waste - found @ price, 0) // price[k], MOST_SPARE)
        found = np.repeat(found, most + 1, axis=0)
        found[:, k] = ranges(np.zeros(len(most), dtype=np.int64), most + 1)
        if len(found) > 50 * MOST_GOALS:
            found = found[np.argsort(found @ price, kind="stable")[: 10 * MOST_GOALS]]
    own = found @ price
    kept = np.flatnonzero(own <= to_waste)
    yield from found[kept[np.argsort(np.abs(own[kept] - wasted), kind="stable")]][:MOST_GOALS]


def _hash(rows: Ints) -> Ints:
    """Returns a number for each row of whole numbers, of which the sum is the number of the sum."""
    words = np.random.default_rng(1).integers(-(2**62), 2**62, size=rows.shape[1], dtype=np.int64)
    with np.errstate(over="ignore"):
        return np.asarray(rows @ words, dtype=np.int64)
