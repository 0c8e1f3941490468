"""
The same services on cheaper partitions: some are taken away, and exchanges make room on the others.

What a partition's load (loads.py) is beyond 1 is excess. Steps lessen the sum of excess and of weighted loads, each
times the price of its partition, until no excess is left. A step looks at two partitions and weighs all exchanges of
one service for another one or for none; one of them, or none, is drawn with a probability in proportion to
exp(-cost / temperature) (heat bath: Creutz, Physical Review D 21, 2308, 1980). Where all loads together are more than
the partitions have room for, they count as much as excess at first, which gathers services that bear rounds of like
lengths, then little. The try ends if they are still more then: some excess stays while they do not fall.

Services that bear only short rounds fit hardly anywhere else, and those that bear long ones cost least where they are:
so partitions are taken away whose rounds are of middling length. Small partitions waste least: larger ones make way for
as many smaller ones as cost no more, where the same services are less of a load there.

A heuristic: it claims nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from ....performance.interference.prediction import Floats, Ints
from ....performance.turns.turn_rule import TurnRule
from .loads import NEVER, RoundLoads
from .slots import Content, Slots, alone_on, round_of

STEPS = 800
"""In a try for each partition."""


@dataclass(frozen=True)
class _Part:
    """A part of a try."""

    steps: float
    """As a part of those of a try."""
    weight: float
    """What loads count beside excess."""
    first: float
    """Temperature, in prices of the cheapest partition, of services that each fill one; of smaller ones it is this
    times their part of one, squared."""
    last: float


ROOMY = (_Part(1.0, weight=0.1, first=0.15, last=0.003),)
"""Where all loads together are less than the partitions have room for."""

TIGHT = _Part(1.0, weight=1.0, first=0.05, last=0.01), _Part(0.25, weight=0.05, first=0.017, last=0.0)
"""Where they are more at first."""

DEALT = 1.0
"""What loads count beside excess where services are dealt to partitions."""

MIDDLING = 0.25, 0.75
"""Quantiles of the lengths of rounds between which partitions are taken away."""

WINDOW = 64
"""Lengths of rounds around the best one that exchanges are weighed at."""

OVERFULL = 0.5
"""Part of the steps that begin at a partition with excess."""

CLOCK = 50
"""Steps between two looks at the clock."""

ROUNDING = 1e-9
"""Excess that is none."""


@dataclass(frozen=True, eq=False)
class _Partition:
    """A partition with services."""

    slot: int
    services: tuple[int, ...]
    load: float
    over_memory: float
    """By how much its processes need more memory than it has, as a part of that."""
    length: int
    """Index of the best length of its round."""
    window: slice
    """Lengths that exchanges are weighed at."""
    parts: Floats
    """Shape (service + 1, length in the window): what each takes of a round; last: nobody, 0."""
    together: Floats
    """Shape (length in the window,)."""

    @property
    def excess(self) -> float:
        """Beyond what it can hold, as a part of that."""
        return max(0.0, self.load - 1.0) + self.over_memory


class Exchanges:
    """
    Puts services onto cheaper partitions.

    Parameters
    ----------
    slots
        Of services, or pieces of them.
    slot_usd
        Shape (slots,), above 0.
    bears_ms
        Of each size how long rounds may be in which a turn carries all of a service, shape (service, option); 0: none.
    is_alone
        Shape (slots, service): whether a service that has the partition for itself carries all it needs.
    owner
        Shape (service,): of whom it is a piece; no two pieces of one are on the same partition.
    """

    def __init__(
        self,
        slots: Sequence[Slots],
        slot_usd: Floats,
        bears_ms: Sequence[Floats],
        is_alone: npt.NDArray[np.bool_],
        owner: Ints,
        rule: TurnRule,
    ) -> None:
        self._slots, self._rule = slots, rule
        self._prices = slot_usd / slot_usd.min()
        self._unit = float(slot_usd.min())
        self._is_alone = is_alone
        self._has_memory = [bool(np.any(one.memory_mib > 0)) for one in slots]
        self._owner = owner if np.unique(owner).size < owner.size else None
        self._loads = cache(lambda k: RoundLoads(slots[k], bears_ms[k]))

    def cheaper(
        self, contents: Sequence[Content], most_usd: float, draw: np.random.Generator, is_over: Callable[[], bool]
    ) -> list[Content] | None:
        """
        Returns contents of the same services on partitions of at most a price, USD per hour; None: not in this try.

        `is_over` tells whether the time is up.
        """
        start = self._smaller([self._measured(one.slot, one.services) for one in contents])
        tried = self._without_some(start, most_usd / self._unit * (1 + ROUNDING), draw)
        if tried is None or len(tried) < 2:
            return None
        steps = STEPS * len(tried)
        filled = len(tried) / sum(len(one.services) for one in tried)
        for part in TIGHT if self._price_of_loads(tried) > self._price(tried) else ROOMY:
            falling = np.linspace(part.first, part.last, int(part.steps * steps)) * filled**2
            if self._is_rid(tried, part.weight, falling, draw, is_over):
                return [self._content(one) for one in tried if one.services]
            if is_over() or self._price_of_loads(tried) > self._price(tried):
                break
        return None

    def _smaller(self, start: list[_Partition]) -> list[_Partition]:
        """Returns smaller partitions in the place of some, for no higher price, where services are less of a load."""
        sizes = sorted({one.slot for one in start})
        found: list[_Partition] = []
        for one in start:
            best, load = one.slot, self._price_of_loads([one]) * (1 - ROUNDING)
            for k in sizes:
                own = self._measured(k, one.services)
                if self._prices[k] < self._prices[one.slot] and self._price_of_loads([own]) < load:
                    best, load = k, self._price_of_loads([own])
            if best == one.slot:
                found.append(one)
                continue
            many = int(self._prices[one.slot] / self._prices[best] * (1 + ROUNDING))
            new = [self._measured(best, ()) for _ in range(many)]
            found += new if self._dealt(one.services, new) else [one]
        return found

    def _without_some(self, start: list[_Partition], most: float, draw: np.random.Generator) -> list[_Partition] | None:
        """Returns partitions of the same services that cost `most` at most, as some are taken away; None: none."""
        left = sorted(start, key=self._round_ms)
        homeless: list[int] = []
        while left and self._price(left) > most:
            homeless += left.pop(int(len(left) * draw.uniform(*MIDDLING))).services
        # What is cheaper than one that was taken away may have its place.
        for k in sorted({one.slot for one in start}, key=lambda k: -self._prices[k]):
            many = int((most - self._price(left)) / self._prices[k])
            left += [self._measured(k, ()) for _ in range(many)]
        return left if self._dealt(homeless, left) else None

    def _dealt(self, services: Sequence[int], partitions: list[_Partition]) -> bool:
        """Puts services onto partitions one by one, each where it costs least, and tells whether all have a place."""
        for w in services:
            free = [i for i, one in enumerate(partitions) if not self._is_twice([*one.services, w])]
            if not free:
                return False
            i = min(free, key=lambda i: self._rise(partitions[i], w))
            partitions[i] = self._measured(partitions[i].slot, (*partitions[i].services, w))
        return True

    def _rise(self, one: _Partition, service: int) -> float:
        """Returns what another service costs on a partition."""
        load = self._with(one, (service,))[-1, :1]
        return float((self._cost(one, load, DEALT) - self._cost(one, np.array([one.load]), DEALT))[0])

    def _is_rid(
        self,
        tried: list[_Partition],
        weight: float,
        falling: Floats,
        draw: np.random.Generator,
        is_over: Callable[[], bool],
    ) -> bool:
        """Exchanges services at temperatures that fall, and tells whether no excess is left."""
        excess, many = np.array([one.excess for one in tried]), len(tried)
        for step, temperature in enumerate(falling.tolist()):
            over = np.flatnonzero(excess > ROUNDING)
            if not over.size:
                return True
            if step % CLOCK == 0 and is_over():
                return False
            at_excess, which, other = draw.random(3).tolist()
            i = int(over[int(which * over.size)]) if at_excess < OVERFULL else int(which * many)
            j = (i + 1 + int(other * (many - 1))) % many
            new = self._exchanged(tried[i], tried[j], weight, temperature, draw)
            if new is not None:
                tried[i], tried[j] = new
                excess[i], excess[j] = new[0].excess, new[1].excess
        return not np.any(excess > ROUNDING)

    def _exchanged(
        self, one: _Partition, other: _Partition, weight: float, temperature: float, draw: np.random.Generator
    ) -> tuple[_Partition, _Partition] | None:
        """Returns partitions with a service of one exchanged for one of the other, or for none; None: as they are."""
        costs = self._cost(one, self._with(one, other.services), weight)
        costs += self._cost(other, self._with(other, one.services), weight).T
        drawn = int((costs - temperature * draw.gumbel(size=costs.shape)).argmin())
        if drawn == costs.size - 1:
            return None
        leaves, comes = divmod(drawn, costs.shape[1])
        own, others = list(one.services), list(other.services)
        if leaves < len(one.services):
            others.append(own.pop(leaves))
        if comes < len(other.services):
            own.append(others.pop(comes))
        if self._is_twice(own) or self._is_twice(others):
            return None
        new, new_other = self._measured(one.slot, own), self._measured(other.slot, others)
        if new.over_memory + new_other.over_memory > one.over_memory + other.over_memory + ROUNDING:
            return None
        return new, new_other

    def _with(self, one: _Partition, others: tuple[int, ...]) -> Floats:
        """Returns loads with one service exchanged, shape (service + 1, other + 1); last of each: nobody."""
        come = np.zeros((len(others) + 1, one.parts.shape[1]))
        come[:-1] = self._loads(one.slot).parts[list(others), one.window]
        loads = np.asarray(((one.together - one.parts)[:, None, :] + come).min(axis=2, initial=NEVER))
        own = one.services
        loads[-1, -1] = one.load
        if len(own) < 2:
            loads[0, :-1] = self._alone(one.slot, others, loads[0, :-1])
        elif len(own) == 2:
            loads[:2, -1] = self._alone(one.slot, own[::-1], loads[:2, -1])
        return loads

    def _alone(self, slot: int, services: Sequence[int], loads: Floats) -> Floats:
        """Returns loads of services that each have a partition for themselves, from those of rounds."""
        return np.where(self._is_alone[slot, list(services)], np.minimum(loads, 1.0), NEVER)

    def _measured(self, slot: int, services: Sequence[int]) -> _Partition:
        table, who = self._loads(slot), list(services)
        parts = table.parts[who]
        together = parts.sum(axis=0)
        length = int(together.argmin()) if together.size else 0
        load = float(together.min(initial=NEVER)) if who else 0.0
        if len(who) == 1:
            load = float(self._alone(slot, who, np.array([load]))[0])
        first = max(0, min(length - WINDOW // 2, together.size - WINDOW))
        window = slice(first, first + WINDOW)
        return _Partition(
            slot,
            tuple(who),
            load,
            self._over_memory(slot, who, length),
            length,
            window,
            np.concatenate([parts[:, window], np.zeros_like(together[None, window])]),
            together[window],
        )

    def _over_memory(self, slot: int, who: list[int], length: int) -> float:
        one = self._slots[slot]
        if len(who) < 2 or not self._has_memory[slot] or not self._loads(slot).ms.size:
            return 0.0
        needed = float(one.memory_mib[who, self._loads(slot).options(who, length)].sum())
        return max(0.0, needed / one.capacity_mib - 1.0)

    def _cost(self, one: _Partition, loads: Floats, weight: float) -> Floats:
        return np.asarray(self._prices[one.slot] * (np.maximum(0.0, loads - 1.0) + weight * loads))

    def _price(self, partitions: Sequence[_Partition]) -> float:
        return float(sum(self._prices[one.slot] for one in partitions))

    def _price_of_loads(self, partitions: Sequence[_Partition]) -> float:
        return float(sum(self._prices[one.slot] * one.load for one in partitions))

    def _round_ms(self, one: _Partition) -> float:
        ms = self._loads(one.slot).ms
        return float(ms[one.length]) if ms.size else 0.0

    def _is_twice(self, services: list[int]) -> bool:
        """Tells whether two of some services are pieces of one."""
        return self._owner is not None and len(set(self._owner[services].tolist())) < len(services)

    def _content(self, one: _Partition) -> Content:
        if len(one.services) == 1:
            return alone_on(self._slots, one.slot, one.services[0])
        options = self._loads(one.slot).options(one.services, one.length).tolist()
        return round_of(self._slots, one.slot, one.services, options, self._rule)
