"""
Partitions filled with services, alone and in rounds: greedily by what each service pays at least, then improved.

With prices mu_k of partitions (time_shares.py) service w pays at least f_w = min_k mu_k tau_wk, and nothing on a
partition of size k is worth more than mu_k. So a content is the better the nearer its services' f add up to its mu.
Partitions are filled one after the other, each with the best content that is found of any size and length of round,
which takes services first that lose least of their time there. What a service needs beyond whole partitions of its own
goes onto one partition. Then some partitions, among them those that are worth least, are emptied and filled anew with a
little chance; what costs less stays.

A heuristic: it claims nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from random import Random
from time import monotonic

import numpy as np

from ....performance.interference.prediction import Floats, Ints
from .slots import TOLERANCE, Content, Slots, round_of
from .time_shares import time_shares

LENGTHS = 64
"""Of rounds that are tried on each size of partition."""

AT_ONCE = 500
"""Services that are dealt with together at first."""

FILLERS = 60
"""Services behind the first that does not fit that are tried in the rest of a round."""

WORST, OTHERS = 3, (1, 3, 5, 7)
"""Partitions among those that are worth least, and any others, that are filled anew at once."""

CHANCE = 0.04
"""By how much what a service loses is changed when partitions are filled anew."""


@dataclass(frozen=True, eq=False)
class _Offer:
    """Rounds of one length on one size of partition, in which a service may have one turn that carries all it needs."""

    slot: int
    ms: float
    takes_ms: Floats
    """Shape (service,); inf: none carries it all in time."""
    option: Ints
    loses: Floats
    """Shape (service,): price of its time here over what it pays at least."""


class Packing:
    """Fills partitions with services at given prices."""

    def __init__(
        self, slots: Sequence[Slots], slot_usd: Floats, rate_rps: Floats, slo_ms: Floats, *, slots_kept: bool
    ) -> None:
        self._slots, self._usd = slots, slot_usd
        self._whole, self._rest_rps = _whole_partitions(slots, slot_usd, rate_rps)
        rest = np.where(self._rest_rps > 0, self._rest_rps, 1.0)
        shares = np.array([time_shares(one, rest, slo_ms, slots_kept=slots_kept) for one in slots])
        with np.errstate(invalid="ignore"):
            self._pays = np.where(np.isfinite(shares), slot_usd[:, None] * shares, np.inf).min(axis=0)
        self._alone = _cheapest_alone(slots, slot_usd, rest)
        self._offers = [
            offer
            for k in range(len(slots))
            for offer in _offers(slots, k, slot_usd[k], rest, slo_ms, self._pays, slots_kept)
        ]

    @property
    def whole(self) -> list[Content]:
        """What services need of partitions for themselves, beyond which `filled` has the rest."""
        return self._whole

    def filled(self, until: float) -> list[Content]:
        """Returns contents that carry the rest of all services; from the moment `until` on they stand alone."""
        waiting = np.flatnonzero(self._rest_rps > 0)
        patience = np.zeros(len(self._rest_rps))
        for one in self._offers:
            patience = np.where(np.isfinite(one.takes_ms), np.maximum(patience, one.ms), patience)
        waiting = waiting[np.argsort(-patience[waiting], kind="stable")]
        found: list[Content] = []
        for first in range(0, waiting.size, AT_ONCE):
            found += self._fill(waiting[first : first + AT_ONCE], self._offers, until, None)
        return found

    def improved(self, contents: list[Content], draw: Random) -> list[Content] | None:
        """Returns contents of the same services that cost less, or as much with more room in one; None: not now."""
        if len(contents) < 2:
            return None
        worth = [self.worth(one) / self._usd[one.slot] for one in contents]
        order = sorted(range(len(contents)), key=worth.__getitem__)
        low = order[: 3 * WORST]
        worst = draw.sample(low, min(WORST, len(low)))
        others = sorted(set(order).difference(worst))
        taken = {*worst, *draw.sample(others, min(draw.choice(OTHERS), len(others)))}
        services = np.array(sorted({w for i in taken for w in contents[i].services}), dtype=np.int64)
        used = {one.slot for one in contents}
        again = self._fill(services, [one for one in self._offers if one.slot in used], inf, draw)
        if self._score(again) < self._score([contents[i] for i in taken]):
            return [one for i, one in enumerate(contents) if i not in taken] + again
        return None

    def worth(self, content: Content) -> float:
        """Returns what the services of a content pay at least, USD per hour."""
        return float(self._pays[list(content.services)].sum())

    def usd(self, contents: Iterable[Content]) -> float:
        """Returns the prices of the partitions of some contents."""
        return float(sum(self._usd[one.slot] for one in contents))

    def _score(self, contents: Sequence[Content]) -> tuple[float, float]:
        """Less is better: the price, then how evenly partitions are filled."""
        return round(self.usd(contents), 9), -sum((self.worth(one) / self._usd[one.slot]) ** 2 for one in contents)

    def _fill(self, services: Ints, offers: Sequence[_Offer], until: float, draw: Random | None) -> list[Content]:
        left = np.zeros(len(self._pays), dtype=np.bool_)
        left[services] = True
        noise = np.ones(len(self._pays))
        if draw is not None:
            noise[services] += np.array([draw.uniform(-CHANCE, CHANCE) for _ in services])
        found = []
        ordered = []
        for one in offers:
            fits = services[np.isfinite(one.takes_ms[services])]
            ordered.append(fits[np.lexsort((-one.takes_ms[fits], np.round((one.loses * noise)[fits], 2)))])
        while left.any():
            best: tuple[float, Content] | None = None
            if monotonic() < until:
                for one, order in zip(offers, ordered, strict=True):
                    content = self._round(one, order[left[order]])
                    if content is not None:
                        worth = self.worth(content) / self._usd[content.slot]
                        if best is None or worth > best[0]:
                            best = worth, content
            content = self._best_alone(np.flatnonzero(left), best)
            found.append(content)
            left[list(content.services)] = False
        return found

    def _round(self, offer: _Offer, order: Ints) -> Content | None:
        """Returns a round of the first services of an order that fit, and of some later ones; None: it has no two."""
        one = self._slots[offer.slot]
        takes, mib = offer.takes_ms[order], one.memory_mib[order, offer.option[order]]
        many = int(np.searchsorted(np.cumsum(takes), offer.ms * (1 + TOLERANCE), side="right"))
        many = min(many, int(np.searchsorted(np.cumsum(mib), one.capacity_mib * (1 + TOLERANCE), side="right")))
        used, used_mib = float(takes[:many].sum()), float(mib[:many].sum())
        services = order[:many].tolist()
        for i in range(many, min(many + FILLERS, len(order))):
            if used + takes[i] <= offer.ms and used_mib + mib[i] <= one.capacity_mib:
                used, used_mib = used + float(takes[i]), used_mib + float(mib[i])
                services.append(int(order[i]))
        if len(services) < 2:
            return None
        return round_of(self._slots, offer.slot, services, [int(offer.option[w]) for w in services])

    def _best_alone(self, left: Ints, best: tuple[float, Content] | None) -> Content:
        """Returns the best round, or a service alone if it is worth more so, or if there is no round."""
        worth = self._pays[left] / self._usd[self._alone[left]]
        i = int(worth.argmax())
        if best is not None and best[0] >= worth[i]:
            return best[1]
        w = int(left[i])
        k = int(self._alone[w])
        return Content(k, (w,), (float(self._slots[k].alone_rps[w]),))


def _whole_partitions(slots: Sequence[Slots], slot_usd: Floats, rate_rps: Floats) -> tuple[list[Content], Floats]:
    """Returns what fills partitions alone, on the size where that costs each service least, and the rates left."""
    capacity = np.array([one.alone_rps for one in slots])
    with np.errstate(divide="ignore"):
        per_rps = np.where(capacity > 0, slot_usd[:, None] / capacity, np.inf)
    size = per_rps.argmin(axis=0)
    own = capacity[size, np.arange(len(rate_rps))]
    count = np.floor(rate_rps / own * (1 + TOLERANCE))
    rest = np.maximum(0.0, rate_rps - count * own)
    whole = [
        Content(int(size[w]), (int(w),), (float(own[w]),)) for w in np.flatnonzero(count) for _ in range(int(count[w]))
    ]
    return whole, np.where(rest > rate_rps * TOLERANCE, rest, 0.0)


def _cheapest_alone(slots: Sequence[Slots], slot_usd: Floats, rate_rps: Floats) -> Ints:
    """Returns the cheapest partition that carries each service alone, as index of its Slots."""
    carries = np.array([one.alone_rps >= rate_rps * (1 - TOLERANCE) for one in slots])
    return np.asarray(np.where(carries, slot_usd[:, None], np.inf).argmin(axis=0), dtype=np.int64)


def _offers(
    slots: Sequence[Slots], k: int, usd: float, rate_rps: Floats, slo_ms: Floats, pays: Floats, slots_kept: bool
) -> list[_Offer]:
    one = slots[k]
    shortest = one.latency_ms.min(axis=1, initial=np.inf)
    served = np.isfinite(shortest)
    if not served.any():
        return []
    last = float((slo_ms[served] - shortest[served]).max() if slots_kept else slo_ms[served].max() / 2)
    first = float(shortest[served].min())
    if last <= first:
        return []
    found = []
    rows = np.arange(len(rate_rps))
    for ms in np.geomspace(first, last, LENGTHS).tolist():
        waits = ms + (one.latency_ms if slots_kept else ms)
        carries = 1000.0 * one.batch >= ms * rate_rps[:, None]
        takes = np.where(carries & (waits <= slo_ms[:, None]), one.latency_ms, np.inf)
        option = takes.argmin(axis=1)
        own = takes[rows, option]
        found.append(_Offer(k, ms, own, option, usd * own / ms / pays))
    return found
