"""
Partitions filled with services, alone and in rounds: greedily by what each service pays at least, then improved.

With prices mu_k of partitions (time_shares.py) service w pays at least f_w = min_k mu_k tau_wk, and nothing on a
partition of size k is worth more than mu_k. So a content is the better the nearer its services' f add up to its mu.
Partitions are filled one after the other, each with the best content that is found of any size and length of round,
which takes services first that lose least of their time there. What a service needs beyond whole partitions of its own
goes onto one partition, or is split evenly among as many as its least number of replicas asks for, never two on the
same; whole partitions are of a size that needs no more of them than there may be replicas. Then some partitions, among
them those that are worth least, are emptied and filled anew with a little chance; what costs less stays. Where that
helps no more, services are exchanged (exchanges.py), if they are not too many.

A heuristic: it claims nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heapreplace
from math import inf
from random import Random
from time import monotonic

import numpy as np

from ....performance.interference.prediction import Floats, Ints
from ....performance.turns.turn_rule import TOLERANCE, TurnRule
from .exchanges import Exchanges
from .slots import Content, Slots, alone_on, round_of
from .time_shares import time_shares

LENGTHS = 64
"""Of rounds that are tried on each size of partition: the longest that some of the services bear."""

AT_ONCE = 500
"""Services that are dealt with together at first."""

FILLERS = 60
"""Services behind the first that does not fit that are tried in the rest of a round."""

WORST, OTHERS = 2, (1, 2, 3, 4)
"""Partitions among those that are worth least, and any others, that are filled anew at once."""

CHANCE = 0.04
"""By how much what a service loses is changed when partitions are filled anew."""

TOGETHER, AMONG = 1_500, 125
"""Services that exchanges are looked for among, and partitions: more take too long, and filling anew gains more."""


@dataclass(frozen=True, eq=False)
class _Offer:
    """Rounds of one length on one size of partition, in which a service may have one turn that carries all it needs."""

    slot: int
    ms: float
    services: Ints
    """Those that can be carried all in time, best first."""
    takes_ms: Floats
    """Shape (service,)."""
    option: Ints
    memory_mib: Floats


class Packing:
    """
    Fills partitions with services at given prices; inside, a service is one of the pieces that its rest is split into.

    `replicas`: the least and the greatest number of partitions of each service, shape (service,); inf: any number.
    `sizes`: indices of the partitions on which rounds are looked for; None: all.
    `lengths`: of rounds that are tried on each size of partition.
    """

    def __init__(
        self,
        slots: Sequence[Slots],
        slot_usd: Floats,
        rate_rps: Floats,
        rule: TurnRule,
        replicas: tuple[Ints, Floats],
        sizes: Sequence[int] | None = None,
        lengths: int = LENGTHS,
    ) -> None:
        self._lengths = lengths
        self._sizes = range(len(slots)) if sizes is None else sizes
        self._whole, left_rps, pieces = _whole_partitions(slots, slot_usd, rate_rps, replicas)
        self._owner = np.repeat(np.arange(len(rate_rps)), pieces)
        self._is_split = bool(np.any(pieces > 1))
        self._left_rps = (left_rps / pieces)[self._owner]
        slots, rule = [_of_pieces(one, self._owner) for one in slots], rule.of(self._owner)
        self._slots, self._usd, self._rule = slots, slot_usd, rule
        self._rest_rps = np.where(self._left_rps > 0, self._left_rps, 1.0)
        shares = np.array([time_shares(one, self._rest_rps, rule) for one in slots])
        with np.errstate(invalid="ignore"):
            self._pays = np.where(np.isfinite(shares), slot_usd[:, None] * shares, np.inf).min(axis=0)
        self._alone = _cheapest_alone(slots, slot_usd, self._rest_rps)
        self._option_ms = [self._longest(one) for one in slots]
        self._longest_ms = [one.max(axis=1, initial=0.0) for one in self._option_ms]

    @property
    def whole(self) -> list[Content]:
        """What services need of partitions for themselves, beyond which `filled` has the rest."""
        return self._whole

    def owned(self, contents: Iterable[Content]) -> list[Content]:
        """Returns contents with their services in place of pieces."""
        return [replace(one, services=tuple(self._owner[list(one.services)].tolist())) for one in contents]

    def needed_rps(self, content: Content) -> tuple[float, ...]:
        """Returns what a content of `filled` has to carry of each of its services."""
        left = self._left_rps[list(content.services)].tolist()
        return tuple(min(own, rps) for own, rps in zip(left, content.carried_rps, strict=True))

    def filled(self, until: float) -> list[Content]:
        """Returns contents that carry the rest of all services; from the moment `until` on they stand alone."""
        waiting = np.flatnonzero(self._left_rps > 0)
        patience = np.max(self._longest_ms, axis=0, initial=0.0)
        waiting = waiting[np.argsort(-patience[waiting], kind="stable")]
        found: list[Content] = []
        for first in range(0, waiting.size, AT_ONCE):
            found += self._fill(waiting[first : first + AT_ONCE], self._sizes, until, None)
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
        again = self._fill(services, sorted({one.slot for one in contents}), inf, draw)
        if self._score(again) < self._score([contents[i] for i in taken]):
            return [one for i, one in enumerate(contents) if i not in taken] + again
        return None

    def refilled(self, contents: Iterable[Content], draw: Random) -> list[Content]:
        """Returns other contents of the same services, with a little chance."""
        services = np.array(sorted({w for one in contents for w in one.services}), dtype=np.int64)
        return self._fill(services, self._sizes, inf, draw) if services.size else []

    def exchanged(
        self, contents: Sequence[Content], most_usd: float, draw: np.random.Generator, until: float
    ) -> list[Content] | None:
        """Returns contents of the same services that cost `most_usd` at most; None: not in this try (exchanges.py)."""
        if len(self._placed) > TOGETHER or len(contents) > AMONG:
            return None
        some = [replace(one, services=_places(one.services, self._placed)) for one in contents]
        found = self._exchanges.cheaper(some, most_usd, draw, lambda: monotonic() >= until)
        if found is None:
            return None
        return [replace(one, services=tuple(self._placed[list(one.services)].tolist())) for one in found]

    @cached_property
    def _placed(self) -> Ints:
        """The pieces that there are beside whole partitions."""
        return np.flatnonzero(self._left_rps > 0)

    @cached_property
    def _exchanges(self) -> Exchanges:
        """Of the pieces that there are, numbered by their places among them."""
        who = self._placed
        slots = [_of_pieces(one, who) for one in self._slots]
        is_alone = np.array([one.alone_rps >= self._left_rps[who] * (1 - TOLERANCE) for one in slots])
        bears_ms = [one[who] for one in self._option_ms]
        return Exchanges(slots, self._usd, bears_ms, is_alone, self._owner[who], self._rule.of(who))

    def worth(self, content: Content) -> float:
        """Returns what the services of a content pay at least, USD per hour."""
        return float(self._pays[list(content.services)].sum())

    def usd(self, contents: Iterable[Content]) -> float:
        """Returns the prices of the partitions of some contents."""
        return float(sum(self._usd[one.slot] for one in contents))

    def _score(self, contents: Sequence[Content]) -> tuple[float, float]:
        """Less is better: the price, then how evenly partitions are filled."""
        return round(self.usd(contents), 9), -sum((self.worth(one) / self._usd[one.slot]) ** 2 for one in contents)

    def _fill(self, services: Ints, sizes: Iterable[int], until: float, draw: Random | None) -> list[Content]:
        left = np.zeros(len(self._pays), dtype=np.bool_)
        left[services] = True
        noise = np.ones(len(services))
        if draw is not None:
            noise += np.array([draw.uniform(-CHANCE, CHANCE) for _ in services])
        offers = [offer for k in sizes for offer in self._offers(k, services, noise, draw)]
        # The best known of each offer, best first. It is looked for again only once somebody of it is placed elsewhere:
        # of fewer services hardly any offer makes more.
        known: list[tuple[float, int, Content | None]] = [(-inf, i, None) for i in range(len(offers))]
        found = []
        while left.any():
            best: tuple[float, Content] | None = None
            while known and monotonic() < until:
                worth, i, content = known[0]
                if content is not None and left[list(content.services)].all():
                    best = -worth, content
                    break
                content = self._round(offers[i], np.flatnonzero(left[offers[i].services]))
                if content is None:
                    heappop(known)
                else:
                    heapreplace(known, (-self.worth(content) / self._usd[content.slot], i, content))
            content = self._best_alone(np.flatnonzero(left), best)
            found.append(content)
            left[list(content.services)] = False
        return found

    def _longest(self, one: Slots) -> Floats:
        """Returns how long rounds may be in which a turn carries all of a service, shape (service, option); 0: none."""
        ms = self._rule.longest_ms(one.batch, one.latency_ms, self._rest_rps)
        return np.where(ms >= one.latency_ms, ms, 0.0)

    def _offers(self, k: int, services: Ints, noise: Floats, draw: Random | None) -> Iterator[_Offer]:
        """Yields rounds on one size of partition for some services."""
        one, bears_ms = self._slots[k], self._option_ms[k][services]
        lengths = np.unique(self._longest_ms[k][services])
        lengths = lengths[lengths > 0]
        if lengths.size > self._lengths:
            spread = np.linspace(0, lengths.size - 1, self._lengths)
            chosen = (
                spread.round().astype(np.int64) if draw is None else draw.sample(range(lengths.size), self._lengths)
            )
            lengths = lengths[np.sort(chosen)]
        latency_ms, rows = one.latency_ms[services], np.arange(len(services))
        for ms in (lengths * (1 - TOLERANCE)).tolist():
            takes = np.where(bears_ms >= ms, latency_ms, np.inf)
            option = takes.argmin(axis=1)
            own = takes[rows, option]
            fits = np.flatnonzero(np.isfinite(own))
            loses = self._usd[k] * own[fits] / ms / self._pays[services[fits]] * noise[fits]
            fits = fits[np.lexsort((-own[fits], np.round(loses, 2)))]
            who = services[fits]
            yield _Offer(k, ms, who, own[fits], option[fits], one.memory_mib[who, option[fits]])

    def _round(self, offer: _Offer, order: Ints) -> Content | None:
        """Returns a round of the first services of an order that fit, and of some later ones; None: it has no two."""
        one = self._slots[offer.slot]
        if self._is_split:
            _, first = np.unique(self._owner[offer.services[order]], return_index=True)
            order = order[np.sort(first)]
        takes, mib = offer.takes_ms[order], offer.memory_mib[order]
        many = int(np.searchsorted(np.cumsum(takes), offer.ms, side="right"))
        many = min(many, int(np.searchsorted(np.cumsum(mib), one.capacity_mib, side="right")))
        used, used_mib = float(takes[:many].sum()), float(mib[:many].sum())
        chosen = order[:many].tolist()
        for i in range(many, min(many + FILLERS, len(order))):
            if used + takes[i] <= offer.ms and used_mib + mib[i] <= one.capacity_mib:
                used, used_mib = used + float(takes[i]), used_mib + float(mib[i])
                chosen.append(int(order[i]))
        if len(chosen) < 2:
            return None
        who, what = offer.services[chosen].tolist(), offer.option[chosen].tolist()
        return round_of(self._slots, offer.slot, who, what, self._rule)

    def _best_alone(self, left: Ints, best: tuple[float, Content] | None) -> Content:
        """Returns the best round, or a service alone if it is worth more so, or if there is no round."""
        worth = self._pays[left] / self._usd[self._alone[left]]
        i = int(worth.argmax())
        if best is not None and best[0] >= worth[i]:
            return best[1]
        w = int(left[i])
        return alone_on(self._slots, int(self._alone[w]), w)


def _whole_partitions(
    slots: Sequence[Slots], slot_usd: Floats, rate_rps: Floats, replicas: tuple[Ints, Floats]
) -> tuple[list[Content], Floats, Ints]:
    """
    Returns what fills partitions alone, on the size where that costs each service least, the rates left, and pieces.

    Pieces are into how many parts what is left of a service is split, 1 or more.
    """
    least, most = replicas
    capacity = np.array([one.alone_rps for one in slots])
    with np.errstate(divide="ignore"):
        enough = np.ceil(rate_rps / capacity * (1 - TOLERANCE)) <= most
        per_rps = np.where((capacity > 0) & enough, slot_usd[:, None] / capacity, np.inf)
    size = per_rps.argmin(axis=0)
    own = capacity[size, np.arange(len(rate_rps))]
    count = np.floor(rate_rps / own * (1 + TOLERANCE))
    # Rates that whole partitions carry exactly have nothing left to split into more replicas.
    count = np.where((count > 0) & (count < least) & (rate_rps - count * own <= rate_rps * TOLERANCE), count - 1, count)
    rest = np.maximum(0.0, rate_rps - count * own)
    left = np.where(rest > rate_rps * TOLERANCE, rest, 0.0)
    pieces = np.where(left > 0, np.maximum(least - count, 1), 1).astype(np.int64)
    whole = [alone_on(slots, int(size[w]), int(w)) for w in np.flatnonzero(count) for _ in range(int(count[w]))]
    return whole, left, pieces


def _places(services: Sequence[int], among: Ints) -> tuple[int, ...]:
    return tuple(np.searchsorted(among, services).tolist())


def _of_pieces(one: Slots, owner: Ints) -> Slots:
    """Returns the partitions of a size with a row for each piece."""
    return replace(
        one,
        alone_rps=one.alone_rps[owner],
        alone_option=one.alone_option[owner],
        batch=one.batch[owner],
        latency_ms=one.latency_ms[owner],
        memory_mib=one.memory_mib[owner],
    )


def _cheapest_alone(slots: Sequence[Slots], slot_usd: Floats, rate_rps: Floats) -> Ints:
    """Returns the cheapest partition that carries each service alone, as index of its Slots."""
    carries = np.array([one.alone_rps >= rate_rps * (1 - TOLERANCE) for one in slots])
    return np.asarray(np.where(carries, slot_usd[:, None], np.inf).argmin(axis=0), dtype=np.int64)
