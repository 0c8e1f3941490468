"""
Which rounds stand beside each other on a GPU under MPS, where iGniter's model says how they slow each other.

At any time one service of each share runs, and `check` takes the worst choice of them. A latency rises with the cache
that the others use and with the power of all. So it is no longer than with the most cache and the most power that any
service of each other share asks for, which need not be the same service: that is counted here. The least share of each
round is found from below, as in interference/least_shares.py: each is raised to what it needs beside the present ones,
until nobody needs more, or they are more than the GPU has. Where a larger share lets others take longer, they are
raised in turn; what is found holds, whether or not a smaller one would.

Rounds are put onto GPUs one after the other, large ones first, each where it leaves least room.

A heuristic: it claims nothing but that what it finds holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ....performance.interference.prediction import Floats, MonotoneModel
from ....performance.turns.turn_rule import TOLERANCE, TurnRule

MOST_CHOICES = 2_000
"""Choices of one service from each share that `check` is to try of a GPU."""


@dataclass(frozen=True)
class Wanted:
    """A round that is to stand on some share."""

    services: tuple[int, ...]
    batches: tuple[int, ...]
    rates_rps: tuple[float, ...]
    """What each turn has to carry."""
    in_turn: bool = True
    """Whether there is a round; else one service has the share for itself, back to back, by the rule of execution."""


@dataclass(frozen=True)
class Placed:
    """A round on its share."""

    wanted: Wanted
    units: int
    round_ms: float | None
    """None: there is no round."""


class _Share:
    """A round and what it asks on shares of all sizes; arrays have shape (service, share)."""

    def __init__(self, wanted: Wanted, model: MonotoneModel, percent: Floats, memory_mib: Floats) -> None:
        who = np.array(wanted.services, dtype=np.int64)
        self.wanted = wanted
        self.services = who[:, None]
        self.batches = np.array(wanted.batches, dtype=np.int64)[:, None]
        self.rates_rps = np.array(wanted.rates_rps)[:, None]
        at = self.services, self.batches, np.broadcast_to(percent, (who.size, percent.size))
        self.asks = model.demands_at(self.services, model.ability_rps(*at))
        self.asks_most: tuple[list[float], ...] = tuple(one.max(axis=0).tolist() for one in self.asks)
        self.memory_mib = float(memory_mib[who].sum())
        self.least = 0
        """Units that it needs alone on a GPU; 0: not looked for yet."""


@dataclass(frozen=True, eq=False)
class _Gpu:
    shares: tuple[_Share, ...]
    units: tuple[int, ...]
    rounds_ms: tuple[float, ...]

    @property
    def used(self) -> int:
        return sum(self.units)

    @property
    def placed(self) -> tuple[Placed, ...]:
        return tuple(
            Placed(one.wanted, units, ms if one.wanted.in_turn else None)
            for one, units, ms in zip(self.shares, self.units, self.rounds_ms, strict=True)
        )


@dataclass(frozen=True, eq=False)
class SlowedGpus:
    """GPUs of one type under MPS."""

    model: MonotoneModel
    percent: Floats
    """Shape (share,): of 1, 2, ... units, all that may be given away last."""
    clients: int
    memory_mib: float
    demand_mib: Floats
    """Shape (service,)."""
    limit_ms: Floats
    """Shape (service,): what a batch may take of a service back to back."""
    rule: TurnRule
    least_units: int = 1
    """Of the smallest share that there is."""

    def deal(self, rounds: Sequence[Wanted]) -> list[tuple[Placed, ...]] | None:
        """Returns GPUs with all rounds; None: one of them fits no GPU."""
        shares = [_Share(one, self.model, self.percent, self.demand_mib) for one in rounds]
        for one in shares:
            alone = self._with((one,), (self.least_units,))
            if alone is None:
                return None
            one.least = alone.units[0]
        gpus: list[_Gpu] = []
        for one in sorted(shares, key=lambda share: -share.least):
            order = sorted(range(len(gpus)), key=lambda i: -gpus[i].used)
            for i in order:
                if gpus[i].used + one.least > self.percent.size:
                    continue
                both = self._with((*gpus[i].shares, one), (*gpus[i].units, one.least))
                if both is not None:
                    gpus[i] = both
                    break
            else:
                alone = self._with((one,), (one.least,))
                assert alone is not None  # as above
                gpus.append(alone)
        return [gpu.placed for gpu in gpus]

    def beside(self, rounds: Sequence[Wanted]) -> tuple[Placed, ...] | None:
        """Returns one GPU with all rounds, on the least shares that were found; None: they do not fit it."""
        shares = tuple(_Share(one, self.model, self.percent, self.demand_mib) for one in rounds)
        found = self._with(shares, (self.least_units,) * len(shares))
        return None if found is None else found.placed

    def asked_of(self, gpus: Sequence[tuple[Placed, ...]]) -> list[tuple[int, tuple[float, ...]]]:
        """Returns of each GPU how many shares it has, and what they ask at most, of power and cache."""
        found = []
        for gpu in gpus:
            shares = [_Share(one.wanted, self.model, self.percent, self.demand_mib) for one in gpu]
            at = [one.units - 1 for one in gpu]
            channels = range(len(shares[0].asks_most))
            totals = tuple(sum(one.asks_most[c][k] for one, k in zip(shares, at, strict=True)) for c in channels)
            found.append((len(gpu), totals))
        return found

    def _with(self, shares: tuple[_Share, ...], units: tuple[int, ...]) -> _Gpu | None:
        """Returns a GPU with rounds on the least shares that are no less than given ones; None: they do not fit."""
        if len(shares) > self.clients or sum(one.memory_mib for one in shares) > self.memory_mib * (1 + TOLERANCE):
            return None
        if prod(len(one.wanted.services) for one in shares) > MOST_CHOICES:
            return None
        own, rounds_ms = list(units), [0.0] * len(shares)
        while True:
            before = tuple(own)
            # The one that came last first: where there is no room it is most often for that.
            for j, one in reversed(list(enumerate(shares))):
                found = self._least(one, own[j], self._beside(shares, own, j), len(shares))
                if found is None:
                    return None
                own[j], rounds_ms[j] = found
                if sum(own) > self.percent.size:
                    return None
            if tuple(own) == before:
                return _Gpu(shares, before, tuple(rounds_ms))

    @staticmethod
    def _beside(shares: Sequence[_Share], units: Sequence[int], j: int) -> tuple[float, ...]:
        """Returns what all shares but one ask at most together."""
        return tuple(
            sum(one.asks_most[c][units[i] - 1] for i, one in enumerate(shares) if i != j)
            for c in range(len(shares[j].asks_most))
        )

    def _least(self, share: _Share, units: int, beside: tuple[float, ...], residents: int) -> tuple[int, float] | None:
        """Returns the least share from some units on that a round needs beside others, and how long the round is."""
        if units > self.percent.size:
            return None
        for at in (slice(units - 1, units), slice(units, None)):
            fits, round_ms = self._fits(share, at, beside, residents)
            if fits.any():
                k = int(fits.argmax())
                return at.start + k + 1, float(round_ms[k])
        return None

    def _fits(self, share: _Share, at: slice, beside: tuple[float, ...], residents: int) -> tuple[np.ndarray, Floats]:
        """Tells on which shares a round is in time and carries what it has to; and how long it is there."""
        percent = self.percent[None, at]
        totals = tuple(own[:, at] + others for own, others in zip(share.asks, beside, strict=True))
        latency_ms, throughput_rps = self.model.among(
            share.services, share.batches, percent, totals=totals, residents=np.array(residents)
        )
        round_ms = latency_ms.sum(axis=0)
        if not share.wanted.in_turn:
            in_time = latency_ms[0] <= self.limit_ms[share.services[0]] * (1 + TOLERANCE)
            return in_time & (throughput_rps[0] >= share.rates_rps[0] * (1 - TOLERANCE)), round_ms
        length = np.broadcast_to(round_ms, latency_ms.shape)
        executed = latency_ms if self.rule.slots_kept else length
        who, batch = (np.broadcast_to(one, latency_ms.shape) for one in (share.services, share.batches))
        carried = self.rule.carried_rps(who, batch, executed, length)
        return np.all(carried >= share.rates_rps * (1 - TOLERANCE), axis=0), round_ms
