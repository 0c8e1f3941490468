"""
Promises of requests that wait, kept beside neighbours under MPS.

The interference model gives the time T of a batch while all neighbours are busy, which is the longest it takes: nobody
is slowed down by a neighbour that idles. A latency rule says which rate r a process with batches of T carries
(`greatest_rps`), which never rises with T; so it keeps its promise exactly up to a time T_max(b, r, SLO, quantile)
(`longest_ms`). In place of "latency <= part of the SLO, throughput >= r" of the rule of execution a resident is asked
for

    latency <= T_max(b, r),    r < b / T being part of it.

T_max depends on nothing but the workload, its batch size and its rate, not on shares: for the interference model it is
one more latency limit, and all that `MonotoneModel` promises holds with it as without. That every batch is counted to
take T, full or not, is full_batch.py's; that neighbours are counted as always busy makes T the longest that a batch can
take, and with batches of T the promise is what the rule says.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from ..latency_rules.rule import Asked, QueueRule
from .prediction import Channels, Floats, Ints, MonotoneModel, SharedPrediction

MOST_KEPT = 1 << 15
"""Pairs of a workload and a rate whose times are kept."""


@dataclass(frozen=True, eq=False)
class Promise:
    """A rule, and what the workloads ask of it, shape (workload,)."""

    rule: QueueRule
    asked: Asked

    def of(self, workloads: Ints | list[int]) -> "Promise":
        """Returns what some of the workloads ask, in the order given."""
        return replace(self, asked=self.asked.of(workloads))


@dataclass(eq=False)
class _Kept:
    """The longest times that were asked for: a row for each pair of a workload and a rate, a column a batch size."""

    row_of: dict[complex, int] = field(default_factory=dict)
    longest_ms: Floats = field(default_factory=lambda: np.zeros((0, 1)))


@dataclass(frozen=True, eq=False)
class PromisingModel:
    """An interference model whose least shares keep a promise; all else is the model's."""

    model: MonotoneModel
    promise: Promise
    most_batch: int
    """The largest batch size of any workload."""
    _kept: _Kept = field(default_factory=_Kept)

    @property
    def load_ms(self) -> Floats:
        """As the model's."""
        return self.model.load_ms

    def restricted_to(self, workloads: Ints) -> "PromisingModel":
        """As the model's, with what these workloads ask."""
        return PromisingModel(self.model.restricted_to(workloads), self.promise.of(workloads), self.most_batch)

    def key(self, workload: int) -> tuple[float, ...]:
        """As the model's, and what the workload asks."""
        asked = self.promise.asked
        own = (asked.slo_ms, asked.rate_rps, asked.quantile)
        return (*self.model.key(workload), *(float(of_each[workload]) for of_each in own))

    def predict(self, workload: Ints, batch: Ints, percent: Floats) -> SharedPrediction:
        """As the model's."""
        return self.model.predict(workload, batch, percent)

    def ability_rps(self, workload: Ints, batch: Ints, percent: Floats) -> Floats:
        """As the model's."""
        return self.model.ability_rps(workload, batch, percent)

    def demands_at(self, workload: Ints, ability_rps: Floats) -> Channels:
        """As the model's."""
        return self.model.demands_at(workload, ability_rps)

    def among(
        self, workload: Ints, batch: Ints, percent: Floats, *, totals: Channels, residents: Ints
    ) -> tuple[Floats, Floats]:
        """As the model's."""
        return self.model.among(workload, batch, percent, totals=totals, residents=residents)

    def surroundings(self, demands: Channels) -> Channels:
        """As the model's."""
        return self.model.surroundings(demands)

    def least_percent(
        self, workload: Ints, batch: Ints, percent: Floats, latency_ms: Floats, required_rps: Floats
    ) -> Floats:
        """As the model's, within the longest time."""
        longest_ms = np.minimum(latency_ms, self.longest_ms(workload, batch, required_rps))
        return self.model.least_percent(workload, batch, percent, longest_ms, required_rps)

    def percent_needed(
        self,
        workload: Ints,
        batch: Ints,
        latency_ms: Floats,
        required_rps: Floats,
        *,
        surroundings: Channels,
        residents: Ints,
    ) -> Floats:
        """As the model's, within the longest time."""
        longest_ms = np.minimum(latency_ms, self.longest_ms(workload, batch, required_rps))
        return self.model.percent_needed(
            workload, batch, longest_ms, required_rps, surroundings=surroundings, residents=residents
        )

    def gpu_budget_ms(self, workload: Ints, batch: Ints, latency_ms: Floats, required_rps: Floats) -> Floats:
        """As the model's, within the longest time."""
        longest_ms = np.minimum(latency_ms, self.longest_ms(workload, batch, required_rps))
        return self.model.gpu_budget_ms(workload, batch, longest_ms, required_rps)

    def percent_needed_among(
        self, workload: Ints, batch: Ints, budget_ms: Floats, *, totals: Channels, residents: Ints
    ) -> Floats:
        """As the model's, whose budget `gpu_budget_ms` gives."""
        return self.model.percent_needed_among(workload, batch, budget_ms, totals=totals, residents=residents)

    def longest_ms(self, workload: Ints, batch: Ints, required_rps: Floats) -> Floats:
        """Returns the longest time of a batch with which each keeps its promise at its rate; arrays are broadcast."""
        w, rate = np.broadcast_arrays(workload, required_rps)
        pairs, where = np.unique(w.ravel() + 1j * rate.ravel(), return_inverse=True)
        rows = self._rows(pairs)[where].reshape(w.shape)
        return np.asarray(self._kept.longest_ms[rows, batch])

    def _rows(self, pairs: np.ndarray) -> Ints:
        """Returns the row of each pair, of those that are new once their times are found."""
        kept = self._kept
        known = pairs.tolist()
        if len(kept.row_of) + len(known) > max(MOST_KEPT, len(known)):
            kept.row_of, kept.longest_ms = {}, np.zeros((0, self.most_batch + 1))
        if missing := [pair for pair in known if pair not in kept.row_of]:
            new = np.array(missing)
            asked = self.promise.asked.of(new.real.astype(np.int64)).of_each_point
            times = np.zeros((new.size, self.most_batch + 1))  # of a batch of none: 0
            batches = np.arange(1, self.most_batch + 1)
            times[:, 1:] = self.promise.rule.longest_ms(batches, new.imag[:, None], asked)
            first = len(kept.row_of)
            kept.row_of |= {pair: first + i for i, pair in enumerate(missing)}
            kept.longest_ms = np.concatenate([kept.longest_ms, times]) if first else times
        return np.fromiter(map(kept.row_of.__getitem__, known), dtype=np.int64, count=len(known))
