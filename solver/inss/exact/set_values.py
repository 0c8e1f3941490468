"""
The most that one GPU carries of a set of models which are all that it has (v(g, S)), and an upper bound of it.

    v(g, S) = max over units u, each at least 1, at most U_g in all, and batches b, of sum of w_i h_i
    h_i     = 1000 b_i / t_i,  with (b_i - 1)/lambda_i + t_i <= SLO_i,  h_i >= spare lambda_i,  memory within the GPU's

Neighbours act by their shares and their number alone, so for given units each model has the batch that is best for
itself; only memory is shared. Units are all tried, batches too: nothing is approximated.

Not all vectors are looked at. Let n = |S|. A model beside others is never faster than with the least that any n - 1
others of S can disturb it: they have at least one unit each, and L2 use never falls with units. So

    o_i(u) = most w_i h_i over batches with that disturbance

is an upper bound of what i counts on u units, and is -inf where u units cannot do even so. Hence
(1) units below the first u with o_i(u) > -inf need not be tried;
(2) sum of o_i(u_i) bounds the value of a vector: vectors are taken in the order of that sum, and the rest is left once
    the sum is not above the best value found;
(3) max over u of sum of o_i(u_i), a knapsack over units, bounds v(g, S) before any vector is tried.
Memory is left out of o_i but for what i alone takes beside the others' least; where the best batches do not fit
together, the best that do are found by a search over all of them (`_within_memory`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...performance.interference.prediction import Floats
from ..decision import ROUNDING
from ..latency import Ints, Latencies
from .unit_vectors import unit_vectors

AT_ONCE = 4_096
"""Vectors that are looked at together."""

NEVER = -np.inf


@dataclass(frozen=True, eq=False)
class SetValue:
    """The best of a set on one GPU; arrays have the order of the models that were asked for."""

    value: float
    """Weighted requests/s; -inf: no units and batches keep all limits."""
    units: Ints
    batch: Ints


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked of the models; arrays have shape (model,)."""

    latencies: Latencies
    rates_rps: Floats
    weights: Floats
    spare: float

    @cached_property
    def worst(self) -> float:
        """More than any model counts."""
        latencies = self.latencies
        least = min(float(tables.running[tables.running > 0].min()) for tables in latencies.types)
        return float(self.weights.max()) * 1000 * latencies.batches / least

    def worth(self, models: Ints, ms: Floats, kind: int) -> Floats:
        """Returns w_i h_i beside the others' least memory; ms and what is returned: shape (..., model, batch)."""
        return self.worth_within(models, ms, self._room(models, kind))

    def worth_within(self, models: Ints, ms: Floats, room: Floats) -> Floats:
        """Returns w_i h_i, -inf where a limit is not kept; `room`: shape (model,), MiB."""
        latencies = self.latencies
        sizes = np.arange(1, latencies.batches + 1, dtype=np.float64)
        rates = self.rates_rps[models][:, None]
        with np.errstate(divide="ignore"):
            capacity = 1000 * sizes / ms
        waits = (sizes - 1) * 1000 / rates
        keeps = waits + ms <= latencies.slo_ms[models][:, None] * (1 + ROUNDING)
        keeps &= capacity >= self.spare * rates * (1 - ROUNDING)
        keeps &= sizes <= latencies.most_batch[models][:, None]
        keeps &= self.memory(models) <= room[:, None]
        found: Floats = np.where(keeps, self.weights[models][:, None] * capacity, NEVER)
        return found

    def memory(self, models: Ints) -> Floats:
        """Returns the memory of every batch, shape (model, batch), MiB."""
        sizes = np.arange(1, self.latencies.batches + 1, dtype=np.float64)
        found: Floats = (
            self.latencies.base_memory[models][:, None] + self.latencies.item_memory[models][:, None] * sizes
        )
        return found

    def _room(self, models: Ints, kind: int) -> Floats:
        """Returns what each model may take at most beside the others' least, shape (model,), MiB."""
        least = self.latencies.base_memory[models] + self.latencies.item_memory[models]
        memory = self.latencies.problem.gpus[kind].memory_mib * (1 + ROUNDING)
        room: Floats = memory - (least.sum() - least)
        return room


def optimistic(asked: Asked, kind: int, models: Ints) -> Floats:
    """Returns o_i(u) of a set, shape (model, units); -inf: so many units are not enough."""
    tables = asked.latencies.types[kind]
    least = tables.l2[models, 0]
    slower = 1 + asked.latencies.sensitivity[models] * (least.sum() - least)
    fixed = asked.latencies.scheduling[models] + tables.crowd[len(models)] * asked.latencies.kernels[models]
    ms = tables.running[models] * slower[:, None, None] + tables.transfer[models][:, None, :] + fixed[:, None, None]
    best: Floats = asked.worth(models, ms.swapaxes(0, 1), kind).max(axis=2).T
    return best


def alone(asked: Asked, kind: int) -> Floats:
    """Returns o_i(u) of each model by itself, shape (model, units)."""
    latencies, tables = asked.latencies, asked.latencies.types[kind]
    fixed = latencies.scheduling + tables.crowd[1] * latencies.kernels
    ms = tables.running + tables.transfer[:, None, :] + fixed[:, None, None]
    models = np.arange(len(asked.rates_rps))
    room = np.full(len(models), latencies.problem.gpus[kind].memory_mib * (1 + ROUNDING))
    best: Floats = asked.worth_within(models, ms.swapaxes(0, 1), room).max(axis=2).T
    return best


def upper_bound(own: Floats) -> float:
    """Returns the most that the bounds o_i(u) of a set come to on one GPU, shape (model, units)."""
    units = own.shape[1]
    best = np.full(units + 1, 0.0)  # best[c]: models so far on at most c units
    for row in own:
        after = np.full(units + 1, NEVER)
        for c in range(1, units + 1):
            after[c] = (best[c - 1 :: -1] + row[:c]).max()
        best = after
    return float(best[units])


def set_value(asked: Asked, kind: int, models: Sequence[int] | Ints) -> SetValue:
    """Returns v(g, S) with the units and batches that reach it."""
    who = np.asarray(models, dtype=np.int64)
    none = SetValue(NEVER, np.zeros(len(who), dtype=np.int64), np.zeros(len(who), dtype=np.int64))
    own = optimistic(asked, kind, who)
    can = own > NEVER
    if not can.any(axis=1).all():
        return none
    vectors = unit_vectors(own.shape[1], can.argmax(axis=1) + 1)
    bounds = own[np.arange(len(who)), vectors - 1].sum(axis=1) if len(vectors) else np.empty(0)
    order = np.argsort(-bounds, kind="stable")
    order = order[bounds[order] > NEVER]
    best = none
    for start in range(0, len(order), AT_ONCE):
        if bounds[order[start]] <= best.value:
            break
        best = best_of(asked, kind, who, vectors[order[start : start + AT_ONCE]], best)
    return best


def best_of(asked: Asked, kind: int, models: Ints, vectors: Ints, best: SetValue) -> SetValue:
    """Returns the best of these vectors of units, shape (vector, model), or the one that is known if none is better."""
    tables, latencies = asked.latencies.types[kind], asked.latencies
    l2 = tables.l2[models, vectors - 1]
    slower = 1 + latencies.sensitivity[models] * (l2.sum(axis=1, keepdims=True) - l2)
    fixed = latencies.scheduling[models] + tables.crowd[len(models)] * latencies.kernels[models]
    ms = tables.running[models, vectors - 1] * slower[..., None]
    ms += (tables.transfer[models] + fixed[:, None])[None]
    worth = asked.worth(models, ms, kind)
    values = worth.max(axis=2).sum(axis=1)
    memory = asked.memory(models)
    room = latencies.problem.gpus[kind].memory_mib * (1 + ROUNDING)
    for at in np.argsort(-values, kind="stable"):
        if values[at] <= best.value:
            break
        batch = worth[at].argmax(axis=1)
        value = float(values[at])
        if memory[np.arange(len(models)), batch].sum() > room:
            value, batch = _within_memory(worth[at], memory, room)
        if value > best.value:
            best = SetValue(value, vectors[at].copy(), batch + 1)
    return best


def _within_memory(worth: Floats, memory: Floats, room: float) -> tuple[float, Ints]:
    """
    Returns the best batches that fit together, as indices; value -inf: none do.

    Model by model all pairs of memory and worth are kept that no other pair beats in both. Shapes (model, batch).
    """
    partial: list[tuple[float, float, tuple[int, ...]]] = [(0.0, 0.0, ())]
    for i in range(len(worth)):
        longer = [
            (used + float(memory[i, b]), value + float(worth[i, b]), (*batches, b))
            for used, value, batches in partial
            for b in np.flatnonzero(worth[i] > NEVER).tolist()
            if used + float(memory[i, b]) <= room
        ]
        longer.sort(key=lambda one: (one[0], -one[1]))
        partial, most = [], NEVER
        for one in longer:
            if one[1] > most:
                partial.append(one)
                most = one[1]
    if not partial:
        return NEVER, np.zeros(len(worth), dtype=np.int64)
    return partial[-1][1], np.array(partial[-1][2], dtype=np.int64)
